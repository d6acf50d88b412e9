/* What <heaptape/checkpoint.h> measures and how it writes numbers. It makes its own system calls, so
 * that nothing allocates, errno stays, and no feature macro is needed. Internal, except for
 * heaptape_now(). */
#ifndef HEAPTAPE_MEASURE_H
#define HEAPTAPE_MEASURE_H

#ifndef HEAPTAPE_HEAPTAPE_H
#error "include <heaptape/heaptape.h>"
#endif

#include <stdlib.h> /* says which C library this is */

#ifdef __GLIBC__
#include <malloc.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

static inline long heaptape_system_call(long number, long first, long second, long third) {
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "0"(number), "D"(first), "S"(second), "d"(third)
                   : "rcx", "r11", "memory");
  return result;
}

/* Seconds of a clock that never goes back. */
static inline double heaptape_now(void) {
  long now[2] = {0, 0};
  (void)heaptape_system_call(228, 1, (long)now, 0); /* clock_gettime, CLOCK_MONOTONIC */
  return (double)now[0] + (double)now[1] * 1e-9;
}

static inline void heaptape_write_all(int file, const char* text, unsigned long length) {
  while (length != 0) {
    const long written = heaptape_system_call(1, file, (long)text, (long)length);
    if (written == -4) continue; /* EINTR */
    if (written <= 0) return;
    text += written;
    length -= (unsigned long)written;
  }
}

/* Reads a small file of /proc and ends it with a NUL; empty if it cannot be read. */
static inline void heaptape_read_file(const char* path, char* text, unsigned long room) {
  const long file = heaptape_system_call(2, (long)path, 02000000, 0); /* open, O_CLOEXEC */
  long length = file < 0 ? 0 : heaptape_system_call(0, file, (long)text, (long)room - 1);
  if (file >= 0) (void)heaptape_system_call(3, file, 0, 0); /* close */
  text[length < 0 ? 0 : length] = '\0';
}

/* The number at the front of the text; moves the text past it and the space that follows. */
static inline long heaptape_take_number(const char** text) {
  long number = 0;
  for (; **text >= '0' && **text <= '9'; ++*text) number = number * 10 + (**text - '0');
  if (**text == ' ') ++*text;
  return number;
}

/* 0: not known. */
static inline long heaptape_thread_count(void) {
  char text[1024];
  const char* at = text;
  int field;
  heaptape_read_file("/proc/self/stat", text, sizeof text);
  for (const char* each = text; *each != '\0'; ++each)
    if (*each == ')') at = each; /* the name of the program may contain anything */
  for (field = 2; field < 20 && *at != '\0'; ++field)
    while (*at != '\0' && *at++ != ' ') {}
  return heaptape_take_number(&at);
}

/* Anonymous memory that is resident. */
static inline long long heaptape_private_memory(void) {
  char text[256];
  const char* at = text;
  long resident, shared;
  heaptape_read_file("/proc/self/statm", text, sizeof text);
  (void)heaptape_take_number(&at);
  resident = heaptape_take_number(&at);
  shared = heaptape_take_number(&at);
  return (resident - shared) * 4096LL;
}

/* How much of the stack is in use from a frame outwards. A thread's control block sits at the top of
 * its stack; the first thread's stack is made by the kernel. 0: the frame is on another stack, such as
 * a coroutine's. */
static inline long long heaptape_stack_in_use(const void* frame) {
  const char* top;
  void** end;
  __asm__("movq %%fs:0, %0" : "=r"(top));
  if (heaptape_system_call(186, 0, 0, 0) == heaptape_system_call(39, 0, 0, 0)) { /* gettid, getpid */
    __asm__(".weak __libc_stack_end\n\tmovq __libc_stack_end@GOTPCREL(%%rip), %0" : "=r"(end));
    top = end != 0 ? (const char*)*end : 0;
  }
  if (top < (const char*)frame || top - (const char*)frame > (1L << 30)) return 0;
  return top - (const char*)frame;
}

#if defined(__GLIBC__) && (__GLIBC__ > 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ >= 33))
static inline void heaptape_ask_libc(long long* live, long long* from_os) {
  const struct mallinfo2 info = mallinfo2();
  *live = (long long)(info.uordblks + info.hblkhd);
  *from_os = (long long)(info.arena + info.hblkhd);
}
#else /* the older mallinfo() cannot count beyond 2 GB */
static inline void heaptape_ask_libc(long long* live, long long* from_os) {
  *live = *from_os = heaptape_private_memory();
}
#endif

static inline void heaptape_trim(void) {
#ifdef __GLIBC__
  (void)malloc_trim(0);
#endif
}

/* --------------------------------------------------------------------------------------------------------------- text */

/* A line being built; what does not fit is left out, except for its end. */
struct heaptape_line {
  unsigned long length;
  char text[3800]; /* below what a pipe takes at once */
};

static inline void heaptape_put_char(struct heaptape_line* line, char c) {
  if (line->length < sizeof line->text - 1 || (c == '\n' && line->length < sizeof line->text))
    line->text[line->length++] = c;
}
static inline void heaptape_put(struct heaptape_line* line, const char* text) {
  for (; *text != '\0'; ++text) heaptape_put_char(line, *text);
}
/* Without control characters: a line stays a line, and a terminal has nothing to obey. */
static inline void heaptape_put_printable(struct heaptape_line* line, const char* text) {
  for (; *text != '\0'; ++text) heaptape_put_char(line, (unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text);
}
static inline void heaptape_put_right(struct heaptape_line* line, const char* text, unsigned long length, int width) {
  unsigned long i;
  for (i = length; i < (unsigned long)width; ++i) heaptape_put_char(line, ' ');
  for (i = 0; i < length; ++i) heaptape_put_char(line, text[i]);
}

static inline char* heaptape_plain_number(char* to, unsigned long long number) {
  char digits[24];
  int count = 0;
  do digits[count++] = (char)('0' + number % 10);
  while ((number /= 10) != 0);
  while (count != 0) *to++ = digits[--count];
  return to;
}

/* 1,234,567 */
static inline char* heaptape_exact_number(char* to, unsigned long long number) {
  char digits[24];
  const int count = (int)(heaptape_plain_number(digits, number) - digits);
  int i;
  for (i = 0; i < count; ++i) {
    if (i != 0 && (count - i) % 3 == 0) *to++ = ',';
    *to++ = digits[i];
  }
  return to;
}

/* An amount of thousandths with one digit after the point, or two below ten; ignores the locale. */
static inline char* heaptape_decimal(char* to, unsigned long long thousandths) {
  const int two = thousandths < 9995;
  const unsigned long long rounded = two ? (thousandths + 5) / 10 : (thousandths + 50) / 100;
  to = heaptape_plain_number(to, rounded / (two ? 100 : 10));
  *to++ = '.';
  if (two) *to++ = (char)('0' + rounded / 10 % 10);
  *to++ = (char)('0' + rounded % 10);
  return to;
}

/* "812 B", "1.27 MB" */
static inline char* heaptape_bytes_text(char* to, unsigned long long bytes) {
  static const char units[] = "kMGTPE";
  int unit = 0;
  unsigned long long thousandths = bytes;
  if (bytes < 1000) {
    to = heaptape_plain_number(to, bytes);
    *to++ = ' ';
  } else {
    for (; thousandths >= 999950 && units[unit + 1] != '\0'; ++unit) thousandths = (thousandths + 500) / 1000;
    to = heaptape_decimal(to, thousandths);
    *to++ = ' ';
    *to++ = units[unit];
  }
  *to++ = 'B';
  return to;
}

static inline char* heaptape_seconds_text(char* to, double seconds) {
  const double ns = seconds * 1e9;
  const unsigned long long whole = ns > 0 ? (unsigned long long)(ns + 0.5) : 0;
  const char* unit = whole < 999950 ? " us" : whole < 999950000 ? " ms" : "  s";
  to = heaptape_decimal(to, whole < 999950      ? whole
                            : whole < 999950000 ? (whole + 500) / 1000
                                                : (whole + 500000) / 1000000);
  return to + heaptape_copy_text(to, unit, 3);
}

static inline void heaptape_put_seconds(struct heaptape_line* line, double seconds, int width) {
  char text[32];
  heaptape_put_right(line, text, (unsigned long)(heaptape_seconds_text(text, seconds) - text), width);
}

static inline void heaptape_put_count(struct heaptape_line* line, long number, int width) {
  char text[24];
  if (number <= 0)
    heaptape_put_right(line, "-", 1, width);
  else
    heaptape_put_right(line, text, (unsigned long)(heaptape_plain_number(text, (unsigned long long)number) - text),
                       width);
}

#ifdef __cplusplus
}
#endif
#endif
