/* heaptape: tell the recorder about your program.
 *
 *   #include <heaptape/heaptape.h>
 *   heaptape_mark("configuration loaded");
 *   heaptape_number("queue length", queue.size());
 *   heaptape_checkpoint(t1, "request %d served", number);
 *
 * C99 and newer, C++17 and newer. There is nothing to link. Without the recorder a call costs one
 * predictable branch (check points print what the C library knows); with -DHEAPTAPE_DISABLE none of
 * it is compiled. Calls are allowed everywhere: in static constructors, in signal handlers, in forked
 * children. The exception is what prints (check points, scopes that print): it asks malloc for
 * figures, so do not call it in the handler of a signal that may interrupt malloc.
 *
 *   heaptape_mark(name)              names a moment; reports accept the name wherever they accept a time
 *   heaptape_snapshot(name)          a moment to compare with others: heaptape report --snapshots, --deltas, --cumulative
 *   heaptape_text(text)              text in order with the events; heaptape_textf(format, ...) is the printf form
 *   heaptape_number(name, value)     a number with a name; heaptape_integer(name, value) keeps 64 bits exactly
 *   heaptape_thread_name(name)       what reports call the calling thread
 *   heaptape_pause(), _resume()      blocks made in between are not on the tape; calls nest
 *   heaptape_scope_begin(name), _end(name); in C++ the object heaptape_scope(name): what a part of the program costs
 *   heaptape_heap(&figures)          what is live now, exactly
 *   heaptape_checkpoint(t1, ...)     a line about time and memory on stderr, and a mark      <heaptape/checkpoint.h>
 *   heaptape_check()                 under 'heaptape check': look at all blocks now           <heaptape/check.h>
 */
#ifndef HEAPTAPE_HEAPTAPE_H
#define HEAPTAPE_HEAPTAPE_H

#include <heaptape/find.h>

/* Bytes that are kept, at most, of a text and of a name that comes with a value. */
#define HEAPTAPE_LONGEST_TEXT 4000
#define HEAPTAPE_LONGEST_NAME 1000

/* The heap at one moment. What was freed is allocated minus live. */
struct heaptape_figures {
  unsigned long live_bytes;
  unsigned long live_blocks;
  unsigned long allocated_bytes; /* since the start */
  unsigned long allocated_blocks;
  unsigned long peak_bytes;
};

/* Kinds of marks, as on the tape. */
enum {
  HEAPTAPE_KIND_MARK = 0,
  HEAPTAPE_KIND_SNAPSHOT = 1,
  HEAPTAPE_KIND_TEXT = 2,
  HEAPTAPE_KIND_NUMBER = 3,
  HEAPTAPE_KIND_CHECKPOINT = 4,
  HEAPTAPE_KIND_SCOPE_BEGIN = 5,
  HEAPTAPE_KIND_SCOPE_END = 6,
  HEAPTAPE_KIND_QUESTION = 0xffff
};

#ifdef HEAPTAPE_DISABLE
#include <heaptape/disabled.h>
#else
#include <heaptape/recorder.h>

#include <stdarg.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a recorder is loaded: for annotations that are expensive to make. */
static inline int heaptape_is_loaded(void) { return heaptape_find_mark() != 0; }

/* Names this moment. */
static inline void heaptape_mark(const char* name) { heaptape_send_mark(name, HEAPTAPE_KIND_MARK); }

/* The same, for a moment whose heap will be compared with other snapshots. */
static inline void heaptape_snapshot(const char* name) { heaptape_send_mark(name, HEAPTAPE_KIND_SNAPSHOT); }

/* Text on the tape, in order with the events: 'heaptape text' shows and searches it. */
static inline void heaptape_text(const char* text) { heaptape_send_mark(text, HEAPTAPE_KIND_TEXT); }

/* The printf form. Without a recorder nothing is formatted and no argument is evaluated. */
#define heaptape_textf(...) (heaptape_is_loaded() ? heaptape_textf_now(__VA_ARGS__) : (void)0)
__attribute__((format(printf, 1, 2), noinline, unused)) static void heaptape_textf_now(const char* format, ...) {
  char text[HEAPTAPE_LONGEST_TEXT + 1];
  va_list arguments;
  va_start(arguments, format);
  if (vsnprintf(text, sizeof text, format, arguments) < 0) text[0] = '\0';
  va_end(arguments);
  heaptape_text(text);
}

/* A number from the program, in order with the events. */
static inline void heaptape_number(const char* name, double value) {
  if (__builtin_expect(heaptape_find_note() != 0, 0)) {
    unsigned long bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    heaptape_send_note(name, HEAPTAPE_KIND_NUMBER, HEAPTAPE_VALUE_REAL, bits, "", 0);
  }
}

/* The same for integers; a double would keep only 53 bits of them. */
static inline void heaptape_integer(const char* name, long long value) {
  if (__builtin_expect(heaptape_find_note() != 0, 0)) {
    heaptape_send_note(name, HEAPTAPE_KIND_NUMBER, HEAPTAPE_VALUE_INTEGER, (unsigned long)value, "", 0);
  }
}

/* What reports call the calling thread from now on. The kernel's name for it does not change. */
static inline void heaptape_thread_name(const char* name) {
  heaptape_thread_name_function const call = heaptape_find_thread_name();
  if (__builtin_expect(call != 0, 0)) call(name);
}

/* From pause to resume, new blocks of all threads are not recorded: the tape shows neither them nor
 * their frees. The end of a block from before the pause is still recorded, without a stack. Each
 * pause needs its resume. Marks are recorded as usual. */
static inline void heaptape_pause(void) {
  heaptape_pause_function const call = heaptape_find_pause();
  if (__builtin_expect(call != 0, 0)) call(1);
}
static inline void heaptape_resume(void) {
  heaptape_pause_function const call = heaptape_find_pause();
  if (__builtin_expect(call != 0, 0)) call(0);
}

/* Begin and end of a part of the program to be measured: marks named "NAME begin" and "NAME end". */
static inline void heaptape_scope_begin(const char* name) {
  if (__builtin_expect(heaptape_find_note() != 0, 0)) (void)heaptape_send_scope(name, HEAPTAPE_KIND_SCOPE_BEGIN, 0);
}
static inline void heaptape_scope_end(const char* name) {
  if (__builtin_expect(heaptape_find_note() != 0, 0)) (void)heaptape_send_scope(name, HEAPTAPE_KIND_SCOPE_END, 0);
}

/* The heap at this moment, exactly as the tape will show it. Returns false, and writes nothing, if
 * nothing is recording. Takes some tens of microseconds: it queries the process that writes the tape. */
static inline int heaptape_heap(struct heaptape_figures* figures) {
  heaptape_note_function const note = heaptape_find_note();
  return __builtin_expect(note != 0, 0) ? note("", 0, HEAPTAPE_KIND_QUESTION, &figures->live_bytes) : 0;
}

#ifdef __cplusplus
}
#endif

#include <heaptape/checkpoint.h>

#ifdef __cplusplus
#include <heaptape/scope.h>
#endif

#endif /* HEAPTAPE_DISABLE */

#include <heaptape/check.h>
#include <heaptape/contents.h>
#include <heaptape/pool.h>
#include <heaptape/profile.h>
#include <heaptape/where.h>

#ifdef __cplusplus
using heaptape_scope = heaptape::scope;
#endif

#endif
