/* heaptape: a look at all blocks, here and now.
 *
 *   #include <heaptape/check.h>
 *   heaptape_check();
 *
 * In a program that runs under 'heaptape check', every block is looked at: what was written outside of
 * one, or into a released one, is reported now instead of when the block is released or the program
 * ends. Two calls around a piece of code tell whether the damage is its doing. Takes about a tenth of
 * a second for each gigabyte of heap. Included by <heaptape/heaptape.h>; there is nothing to link, see
 * there.
 */
#ifndef HEAPTAPE_CHECK_H
#define HEAPTAPE_CHECK_H

#include <heaptape/find.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef HEAPTAPE_DISABLE
typedef long (*heaptape_check_function)(void);
HEAPTAPE_FIND(heaptape_check_function, heaptape_find_check, "heaptape_recorder_check")
#endif

/* How many memory errors there have been so far, of all kinds; -1: the program runs without checks. */
static inline long heaptape_check(void) {
#ifdef HEAPTAPE_DISABLE
  return -1;
#else
  heaptape_check_function const check = heaptape_find_check();
  return __builtin_expect(check != 0, 0) ? check() : -1;
#endif
}

#ifdef __cplusplus
}
#endif

#endif
