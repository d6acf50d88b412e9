/* heaptape: where does this pointer come from?
 *
 *   #include <heaptape/where.h>
 *   heaptape_where(p);
 *
 * Prints what is known about the block that p points into, live or freed, to standard error: size,
 * age, thread, and the call stacks that allocated and freed it. Use it when something is wrong: the
 * answer takes from a few milliseconds up to seconds. Included by <heaptape/heaptape.h>; there is
 * nothing to link, see there.
 */
#ifndef HEAPTAPE_WHERE_H
#define HEAPTAPE_WHERE_H

#include <heaptape/find.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef HEAPTAPE_DISABLE
typedef int (*heaptape_where_function)(const void* pointer);
HEAPTAPE_FIND(heaptape_where_function, heaptape_find_where, "heaptape_recorder_where")
#endif

/* 1: the pointer lies in a block, live or freed; 0: it does not; -1: the program is not being
 * recorded. In a debugger: call heaptape_where(p). */
static inline int heaptape_where(const void* pointer) {
#ifdef HEAPTAPE_DISABLE
  (void)pointer;
  return -1;
#else
  heaptape_where_function const where = heaptape_find_where();
  return __builtin_expect(where != 0, 0) ? where(pointer) : -1;
#endif
}

#ifdef __cplusplus
}
#endif

#endif
