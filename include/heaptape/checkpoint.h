/* Check points: one line about time and memory, wherever you want to know.
 *
 *   double t1 = heaptape_now();
 *   update(entrant);
 *   heaptape_checkpoint(t1, "entrant %d updated", entrant->id);            C, and C++ too
 *   heaptape::checkpoint(t1, "entrant updated", entrant.id, entrant.name); C++; t1 may be a time_point of std::chrono
 *
 *     elapsed  thr     change       live   from OS      stack  check point
 *    801.6 us    1  +139.2 kB   100.2 MB  144.0 MB+    1.90 kB  entrant updated  42 anna
 *
 * elapsed: since t1.
 * change:  of the live heap since the previous check point of any thread; yellow if it grew, green if
 *          it shrank.
 * live:    what the program has allocated and not freed. Exact when recorded; otherwise the C
 *          library's figure, which counts its own overhead (then a ~ stands in front).
 * from OS: what the C library got from the system for its heap; red, and with a +, if it is more than
 *          before.
 * stack:   how much of the calling thread's stack is in use.
 *
 * The check point is also a mark on the tape.
 *
 * heaptape_checkpoint_options("bytes,trim") sets options; the environment variable
 * HEAPTAPE_CHECKPOINT (same words) overrides them:
 *   human (default) or bytes        how amounts are written
 *   as-is (default) or trim         trim: first give unused memory of malloc back to the system (slow)
 *   color, no-color                 default: on terminals, unless NO_COLOR is set
 *   stderr (default), quiet, file=PATH   where lines go: quiet: nowhere; a file is appended to. The
 *                                   mark is made in any case
 *
 * A line is one write, so lines of several threads never mix. Nothing here allocates.
 */
#ifndef HEAPTAPE_CHECKPOINT_H
#define HEAPTAPE_CHECKPOINT_H

#ifndef HEAPTAPE_HEAPTAPE_H
#error "include <heaptape/heaptape.h>"
#endif

#include <heaptape/measure.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  HEAPTAPE_OPTION_BYTES = 1,
  HEAPTAPE_OPTION_TRIM = 2,
  HEAPTAPE_OPTION_COLOR = 4,
  HEAPTAPE_OPTION_NO_COLOR = 8,
  HEAPTAPE_OPTION_QUIET = 16,
  HEAPTAPE_OPTIONS_KNOWN = 32 /* the environment has been looked at */
};

/* What all check points of the process share, whatever source files they are in: each has a weak
 * definition, and the linker takes one of them. */
struct heaptape_checkpoint_state {
  long long live;       /* at the previous check point */
  long long from_os;    /* likewise */
  unsigned seen;        /* 0: none yet; 1: its live heap was exact; 2: it was the C library's */
  unsigned options;     /* HEAPTAPE_OPTION_ */
  int descriptor_and_1; /* of the file; 0: stderr */
};
extern struct heaptape_checkpoint_state heaptape_checkpoints;
__attribute__((weak, visibility("default"))) struct heaptape_checkpoint_state heaptape_checkpoints;

/* ------------------------------------------------------------------------------------------------------------ options */

static inline int heaptape_word_is(const char* text, unsigned long length, const char* word) {
  unsigned long i = 0;
  for (; i < length && word[i] != '\0'; ++i)
    if (text[i] != word[i]) return 0;
  return i == length && word[i] == '\0';
}

static inline void heaptape_set_file(const char* path, unsigned long length) {
  char name[1024];
  long file = -1;
  if (length < sizeof name) {
    __builtin_memcpy(name, path, length);
    name[length] = '\0';
    file = heaptape_system_call(2, (long)name, 02002101, 0644); /* open; O_WRONLY, O_CREAT, O_APPEND, O_CLOEXEC */
  }
  if (file >= 0)
    heaptape_checkpoints.descriptor_and_1 = (int)file + 1;
  else
    heaptape_write_all(2, "heaptape: the file for check points cannot be opened; they go to stderr\n", 72);
}

/* An unknown word is reported once and has no effect. */
static inline void heaptape_tell_option(const char* word, unsigned long length) {
  struct heaptape_line line;
  unsigned long i;
  line.length = 0;
  heaptape_put(&line, "heaptape: '");
  for (i = 0; i < length && i < 100; ++i) heaptape_put_char(&line, word[i] < 0x20 ? '?' : word[i]);
  heaptape_put(
      &line,
      "' is not an option of check points: bytes, human, trim, as-is, color, no-color, quiet, stderr, file=NAME\n");
  heaptape_write_all(2, line.text, line.length);
}

static inline void heaptape_set_option(const char* word, unsigned long length) {
  unsigned set = 0, clear = 0;
  int known = length == 0;
  if (heaptape_word_is(word, length, "bytes")) set = HEAPTAPE_OPTION_BYTES;
  if (heaptape_word_is(word, length, "human")) clear = HEAPTAPE_OPTION_BYTES;
  if (heaptape_word_is(word, length, "trim")) set = HEAPTAPE_OPTION_TRIM;
  if (heaptape_word_is(word, length, "as-is")) clear = HEAPTAPE_OPTION_TRIM;
  if (heaptape_word_is(word, length, "color")) set = HEAPTAPE_OPTION_COLOR, clear = HEAPTAPE_OPTION_NO_COLOR;
  if (heaptape_word_is(word, length, "no-color")) set = HEAPTAPE_OPTION_NO_COLOR, clear = HEAPTAPE_OPTION_COLOR;
  if (heaptape_word_is(word, length, "quiet")) set = HEAPTAPE_OPTION_QUIET;
  if (heaptape_word_is(word, length, "stderr")) {
    clear = HEAPTAPE_OPTION_QUIET;
    heaptape_checkpoints.descriptor_and_1 = 0;
  }
  if (length > 5 && heaptape_word_is(word, 5, "file=")) {
    heaptape_set_file(word + 5, length - 5);
    known = 1;
  }
  if (!known && set == 0 && clear == 0) heaptape_tell_option(word, length);
  __atomic_fetch_and(&heaptape_checkpoints.options, ~clear, __ATOMIC_RELAXED);
  __atomic_fetch_or(&heaptape_checkpoints.options, set, __ATOMIC_RELAXED);
}

static inline void heaptape_set_options(const char* words) {
  while (words != 0 && *words != '\0') {
    unsigned long length = 0;
    while (words[length] != '\0' && words[length] != ',') ++length;
    heaptape_set_option(words, length);
    words += length + (words[length] == ',');
  }
}

/* Words from the list above, separated by commas. The environment comes last, and so wins. */
__attribute__((unused)) static void heaptape_checkpoint_options(const char* words) {
  heaptape_set_options(words);
  heaptape_set_options(getenv("HEAPTAPE_CHECKPOINT"));
  __atomic_fetch_or(&heaptape_checkpoints.options, HEAPTAPE_OPTIONS_KNOWN, __ATOMIC_RELAXED);
}

static inline unsigned heaptape_known_options(void) {
  if ((__atomic_load_n(&heaptape_checkpoints.options, __ATOMIC_RELAXED) & HEAPTAPE_OPTIONS_KNOWN) == 0)
    heaptape_checkpoint_options(0);
  return __atomic_load_n(&heaptape_checkpoints.options, __ATOMIC_RELAXED);
}

static inline int heaptape_checkpoint_file(void) {
  return heaptape_checkpoints.descriptor_and_1 != 0 ? heaptape_checkpoints.descriptor_and_1 - 1 : 2;
}

static inline int heaptape_with_color(unsigned options, int file) {
  char terminal[64];
  const char* refused = getenv("NO_COLOR");
  if ((options & (HEAPTAPE_OPTION_COLOR | HEAPTAPE_OPTION_NO_COLOR)) != 0)
    return (options & HEAPTAPE_OPTION_COLOR) != 0;
  return (refused == 0 || *refused == '\0') && heaptape_system_call(16, file, 0x5401, (long)terminal) == 0; /* TCGETS */
}

/* --------------------------------------------------------------------------------------------------------------- line */

/* What is known at a check point. */
struct heaptape_checkpoint_facts {
  double elapsed;
  long threads; /* 0: not known */
  long long live;
  long long change; /* with has_change */
  long long from_os;
  long long stack; /* 0: not known */
  int exact, has_change, os_grew, is_first;
};

static inline void heaptape_put_amount(struct heaptape_line* line, long long amount, int sign, int bytes, int width) {
  char text[32];
  const unsigned long long size = amount < 0 ? 0ULL - (unsigned long long)amount : (unsigned long long)amount;
  char* at = text;
  if (sign) *at++ = amount < 0 ? '-' : amount > 0 ? '+' : ' ';
  at = bytes ? heaptape_exact_number(at, size) : heaptape_bytes_text(at, size);
  heaptape_put_right(line, text, (unsigned long)(at - text), width);
}

static inline void heaptape_put_line(struct heaptape_line* line, const struct heaptape_checkpoint_facts* facts,
                                     unsigned options, int color, const char* label, const char* detail) {
  const int bytes = (options & HEAPTAPE_OPTION_BYTES) != 0;
  const int wide = bytes ? 16 : 9; /* up to 999,999,999,999 */
  const char* paint = !color || !facts->has_change || facts->change == 0 ? ""
                      : facts->change > 0                                ? "\033[33m"
                                                                         : "\033[32m";
  if (facts->is_first) {
    heaptape_put_right(line, "elapsed", 7, 9);
    heaptape_put_right(line, "thr", 3, 5);
    heaptape_put_right(line, "change", 6, wide + 2);
    heaptape_put_right(line, "live", 4, wide + 2);
    heaptape_put_right(line, "from OS", 7, wide + 1);
    heaptape_put_right(line, "stack", 5, bytes ? 13 : 11);
    heaptape_put(line, "  check point\n");
  }
  heaptape_put_seconds(line, facts->elapsed, 9);
  heaptape_put_count(line, facts->threads, 5);
  heaptape_put(line, paint);
  if (facts->has_change)
    heaptape_put_amount(line, facts->change, 1, bytes, wide + 2);
  else
    heaptape_put_right(line, "-", 1, wide + 2);
  if (*paint != '\0') heaptape_put(line, "\033[0m");
  heaptape_put(line, facts->exact ? "  " : " ~");
  heaptape_put_amount(line, facts->live, 0, bytes, wide);
  if (color && facts->os_grew) heaptape_put(line, "\033[31m");
  heaptape_put_amount(line, facts->from_os, 0, bytes, wide + 1);
  heaptape_put(line, facts->os_grew ? "+" : " ");
  if (color && facts->os_grew) heaptape_put(line, "\033[0m");
  if (facts->stack != 0)
    heaptape_put_amount(line, facts->stack, 0, bytes, bytes ? 12 : 10);
  else
    heaptape_put_right(line, "-", 1, bytes ? 12 : 10);
  heaptape_put(line, "  ");
  heaptape_put_printable(line, label);
  if (*detail != '\0') heaptape_put(line, "  ");
  heaptape_put_printable(line, detail);
  heaptape_put(line, "\n");
}

/* Compares with the previous check point, and becomes the previous one for the next. */
static inline void heaptape_note_change(struct heaptape_checkpoint_facts* facts) {
  struct heaptape_checkpoint_state* state = &heaptape_checkpoints;
  const unsigned now = facts->exact ? 1 : 2;
  const unsigned before = __atomic_exchange_n(&state->seen, now, __ATOMIC_ACQ_REL);
  const long long live = __atomic_exchange_n(&state->live, facts->live, __ATOMIC_ACQ_REL);
  const long long from_os = __atomic_exchange_n(&state->from_os, facts->from_os, __ATOMIC_ACQ_REL);
  facts->is_first = before == 0;
  facts->has_change = before == now;
  facts->change = facts->live - live;
  facts->os_grew = before != 0 && facts->from_os > from_os;
}

__attribute__((noinline, unused)) static void heaptape_make_checkpoint(double elapsed, const char* label,
                                                                       const char* detail, const void* frame) {
  struct heaptape_checkpoint_facts facts;
  struct heaptape_figures figures;
  struct heaptape_line line;
  const unsigned options = heaptape_known_options();
  long long libc_live = 0;
  if ((options & HEAPTAPE_OPTION_TRIM) != 0) heaptape_trim();
  facts.elapsed = elapsed;
  facts.exact = 0;
  if (heaptape_find_note() != 0) {
    unsigned long bits;
    __builtin_memcpy(&bits, &elapsed, sizeof bits);
    facts.exact =
        heaptape_send_note(label, HEAPTAPE_KIND_CHECKPOINT, HEAPTAPE_VALUE_REAL, bits, detail, &figures.live_bytes);
  }
  if ((options & HEAPTAPE_OPTION_QUIET) != 0) return;
  heaptape_ask_libc(&libc_live, &facts.from_os);
  facts.live = facts.exact ? (long long)figures.live_bytes : libc_live;
  if (facts.from_os < facts.live) facts.from_os = heaptape_private_memory(); /* not the C library's malloc */
  facts.threads = heaptape_thread_count();
  facts.stack = heaptape_stack_in_use(frame);
  heaptape_note_change(&facts);
  line.length = 0;
  heaptape_put_line(&line, &facts, options, heaptape_with_color(options, heaptape_checkpoint_file()), label, detail);
  heaptape_write_all(heaptape_checkpoint_file(), line.text, line.length);
}

/* --------------------------------------------------------------------------------------------------------- for use */

/* `t1` comes from heaptape_now(). Leaves errno alone. */
__attribute__((format(printf, 2, 3), noinline, unused)) static void heaptape_checkpoint(double t1, const char* format,
                                                                                        ...) {
  const double elapsed = heaptape_now() - t1;
  char label[HEAPTAPE_LONGEST_NAME + 1];
  va_list arguments;
  int length;
  va_start(arguments, format);
  length = vsnprintf(label, sizeof label, format, arguments);
  va_end(arguments);
  if (length < 0) label[0] = '\0';
  if (length >= (int)sizeof label) __builtin_memcpy(label + sizeof label - 4, "...", 4); /* there was more */
  heaptape_make_checkpoint(elapsed, label, "", __builtin_frame_address(0));
}

#ifdef __cplusplus
}
#endif
#endif
