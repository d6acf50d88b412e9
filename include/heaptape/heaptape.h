/* heaptape: tell the recorder about moments of your program.
 *
 *   #include <heaptape/heaptape.h>
 *   heaptape_mark("configuration loaded");
 *
 * Nothing to link. Without the recorder a call costs one predictable branch; with -DHEAPTAPE_DISABLE it costs nothing. Calls are
 * allowed everywhere: in static constructors, in signal handlers, in forked children.
 */
#ifndef HEAPTAPE_HEAPTAPE_H
#define HEAPTAPE_HEAPTAPE_H

#include <heaptape/where.h>

#ifdef __cplusplus
extern "C" {
#endif

#if !defined(HEAPTAPE_DISABLE) && !defined(__x86_64__)
#define HEAPTAPE_DISABLE /* the recorder knows no other processor yet */
#endif

#ifndef HEAPTAPE_DISABLE
/* Defined by libheaptape.so when it is loaded; null otherwise. Not for use: call what is below. Read out of the global offset
 * table by hand: in code that is not position independent a linker takes an undefined weak symbol for null once and for all. */
typedef void (*heaptape_recorder_mark_function)(const char* name, unsigned kind);
static inline heaptape_recorder_mark_function heaptape_find_recorder_mark(void) {
  heaptape_recorder_mark_function const* slot;
  __asm__(".weak heaptape_recorder_mark\n\tleaq heaptape_recorder_mark@GOTPCREL(%%rip), %0" : "=r"(slot));
  return *slot;
}
static inline void heaptape_call_recorder_mark(const char* name, unsigned kind) {
  heaptape_recorder_mark_function const mark = heaptape_find_recorder_mark();
  if (__builtin_expect(mark != 0, 0)) mark(name, kind);
}
#endif

/* Names this moment. Reports accept the name wherever they accept a time. At most 240 bytes of it are kept. */
static inline void heaptape_mark(const char* name) {
#ifdef HEAPTAPE_DISABLE
  (void)name;
#else
  heaptape_call_recorder_mark(name, 0);
#endif
}

/* The same for a moment whose heap is to be compared with that at other snapshots: heaptape report --snapshots, --deltas,
 * --cumulative. */
static inline void heaptape_snapshot(const char* name) {
#ifdef HEAPTAPE_DISABLE
  (void)name;
#else
  heaptape_call_recorder_mark(name, 1);
#endif
}

#ifdef __cplusplus
}
#endif

#endif
