/* heaptape: profile the CPU time of parts of your program.
 *
 *   #include <heaptape/profile.h>
 *   heaptape_profile_start(100);   // samples per second of CPU time
 *   load();
 *   heaptape_profile_dump();       // segment 1 ends here, segment 2 begins
 *   serve();
 *   heaptape_profile_stop();
 *
 * The samples go onto the tape of the recording, beside the heap events: 'heaptape cpu --segment 2' shows those of one segment. Nothing to
 * link. Without the recorder a call costs one predictable branch; with -DHEAPTAPE_DISABLE it costs nothing.
 */
#ifndef HEAPTAPE_PROFILE_H
#define HEAPTAPE_PROFILE_H

#ifdef __cplusplus
extern "C" {
#endif

#if !defined(HEAPTAPE_DISABLE) && !defined(__x86_64__)
#define HEAPTAPE_DISABLE /* the recorder knows no other processor yet */
#endif

#ifndef HEAPTAPE_DISABLE
/* Defined by libheaptape.so when it is loaded; null otherwise. Not for use: call what is below. Read out of the global offset
 * table by hand: in code that is not position independent a linker takes an undefined weak symbol for null once and for all. */
typedef void (*heaptape_recorder_profile_function)(unsigned call, unsigned hz);
static inline void heaptape_call_recorder_profile(unsigned call, unsigned hz) {
  heaptape_recorder_profile_function const* slot;
  __asm__(".weak heaptape_recorder_profile\n\tleaq heaptape_recorder_profile@GOTPCREL(%%rip), %0" : "=r"(slot));
  if (__builtin_expect(*slot != 0, 0)) (*slot)(call, hz);
}
#endif

/* Begins a segment: from here on every thread is sampled, `hz` times (1 to 5000) per second of CPU time that it uses. A segment that is
 * under way ends. Segments are numbered from 1; each has its own samples only. */
static inline void heaptape_profile_start(unsigned hz) {
#ifdef HEAPTAPE_DISABLE
  (void)hz;
#else
  heaptape_call_recorder_profile(0, hz);
#endif
}

/* Ends the segment under way and begins the next one; does nothing when there is none. */
static inline void heaptape_profile_dump(void) {
#ifndef HEAPTAPE_DISABLE
  heaptape_call_recorder_profile(1, 0);
#endif
}

/* Ends the segment under way. */
static inline void heaptape_profile_stop(void) {
#ifndef HEAPTAPE_DISABLE
  heaptape_call_recorder_profile(2, 0);
#endif
}

#ifdef __cplusplus
}
#endif

#endif
