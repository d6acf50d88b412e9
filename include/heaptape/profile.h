/* heaptape: profile the CPU time of parts of your program.
 *
 *   #include <heaptape/profile.h>
 *   heaptape_profile_start(100);   // samples per second of CPU time
 *   load();
 *   heaptape_profile_dump();       // segment 1 ends here, segment 2 begins
 *   serve();
 *   heaptape_profile_stop();
 *
 * The samples go onto the tape, beside the heap events: 'heaptape cpu --segment 2' shows those of one
 * segment. There is nothing to link. Without the recorder a call costs one predictable branch; with
 * -DHEAPTAPE_DISABLE it costs nothing.
 */
#ifndef HEAPTAPE_PROFILE_H
#define HEAPTAPE_PROFILE_H

#include <heaptape/find.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef HEAPTAPE_DISABLE
/* Internal: call the functions below instead. */
typedef void (*heaptape_profile_function)(unsigned call, unsigned hz);
HEAPTAPE_FIND(heaptape_profile_function, heaptape_find_profile, "heaptape_recorder_profile")

static inline void heaptape_send_profile(unsigned call, unsigned hz) {
  heaptape_profile_function const send = heaptape_find_profile();
  if (__builtin_expect(send != 0, 0)) send(call, hz);
}
#endif

/* Begins a segment: from here on every thread is sampled, `hz` times (1 to 5000) per second of CPU
 * time that it uses. The current segment, if any, ends. Segments are numbered from 1; each has only
 * its own samples. */
static inline void heaptape_profile_start(unsigned hz) {
#ifdef HEAPTAPE_DISABLE
  (void)hz;
#else
  heaptape_send_profile(0, hz);
#endif
}

/* Ends the current segment and begins the next one; does nothing if there is none. */
static inline void heaptape_profile_dump(void) {
#ifndef HEAPTAPE_DISABLE
  heaptape_send_profile(1, 0);
#endif
}

/* Ends the current segment. */
static inline void heaptape_profile_stop(void) {
#ifndef HEAPTAPE_DISABLE
  heaptape_send_profile(2, 0);
#endif
}

#ifdef __cplusplus
}
#endif

#endif
