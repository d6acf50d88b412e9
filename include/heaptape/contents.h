/* heaptape: a snapshot of the program's memory, here and now.
 *
 *   #include <heaptape/contents.h>
 *   heaptape_contents("cache warm");
 *
 * All memory of the program goes onto the tape, with the registers of all threads, under this name:
 * 'heaptape snapshots' lists it; leaks, types, refs, trace and bytes look into it. The calling thread
 * waits until the memory has been copied: milliseconds for small programs, a third of a second per
 * gigabyte for large ones; the others run on for most of that. Included by <heaptape/heaptape.h>;
 * there is nothing to link, see there.
 */
#ifndef HEAPTAPE_CONTENTS_H
#define HEAPTAPE_CONTENTS_H

#include <heaptape/find.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef HEAPTAPE_DISABLE
typedef long (*heaptape_contents_function)(const char* name);
HEAPTAPE_FIND(heaptape_contents_function, heaptape_find_contents, "heaptape_recorder_contents")
#endif

/* The number of the snapshot, counted from 1; -1: there is none, for the program is not being
 * recorded, or its memory cannot be copied; the recording says why at its end, also when the tape
 * has no room for what was copied. While a debugger holds the program, use the debugger's own
 * 'generate-core-file'. */
static inline long heaptape_contents(const char* name) {
#ifdef HEAPTAPE_DISABLE
  (void)name;
  return -1;
#else
  heaptape_contents_function const contents = heaptape_find_contents();
  return __builtin_expect(contents != 0, 0) ? contents(name) : -1;
#endif
}

#ifdef __cplusplus
}
#endif

#endif
