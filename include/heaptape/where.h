/* heaptape: where does this pointer come from?
 *
 *   #include <heaptape/where.h>
 *   heaptape_where(p);
 *
 * Prints what is known of the block that p points into, live or freed, to standard error: size, age, thread, and the call stacks that
 * allocated and freed it. For a moment when something is wrong: the answer takes from some milliseconds up to seconds.
 * Included by <heaptape/heaptape.h>. Nothing to link; see there.
 */
#ifndef HEAPTAPE_WHERE_H
#define HEAPTAPE_WHERE_H

#ifdef __cplusplus
extern "C" {
#endif

#if !defined(HEAPTAPE_DISABLE) && !defined(__x86_64__)
#define HEAPTAPE_DISABLE /* the recorder knows no other processor yet */
#endif

/* 1: the pointer lies in a block, or did; 0: it does not; -1: the program is not being recorded. In a debugger: call heaptape_where(p). */
static inline int heaptape_where(const void* pointer) {
#ifdef HEAPTAPE_DISABLE
  (void)pointer;
  return -1;
#else
  /* As for heaptape_mark(): null when the recorder is not loaded, also in code that is not position independent. */
  int (*const* slot)(const void*);
  __asm__(".weak heaptape_recorder_where\n\tleaq heaptape_recorder_where@GOTPCREL(%%rip), %0" : "=r"(slot));
  return __builtin_expect(*slot != 0, 0) ? (*slot)(pointer) : -1;
#endif
}

#ifdef __cplusplus
}
#endif

#endif
