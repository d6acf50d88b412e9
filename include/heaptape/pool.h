/* heaptape: tell the recorder about blocks of your own allocators. Part of <heaptape/heaptape.h>.
 *
 *   void* node = arena_take(arena, 48);
 *   heaptape_alloc("parser arena", node, 48);
 *   ...
 *   heaptape_pool_reset("parser arena");      // the arena is empty again
 *
 * A pool is a named set of blocks that lie inside other memory: a malloc block, a mapping, an array.
 * Its blocks are counted separately (heaptape pools), never as heap: the memory they lie in is
 * counted there already.
 */
#ifndef HEAPTAPE_POOL_H
#define HEAPTAPE_POOL_H

#include <heaptape/find.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef HEAPTAPE_DISABLE
/* A null block means the whole pool. Internal: call the functions below instead. */
typedef void (*heaptape_pool_function)(const char* pool, const void* block, size_t size, unsigned is_free);
HEAPTAPE_FIND(heaptape_pool_function, heaptape_find_pool, "heaptape_recorder_pool")

static inline void heaptape_send_pool(const char* pool, const void* block, size_t size, unsigned is_free) {
  heaptape_pool_function const send = heaptape_find_pool();
  if (__builtin_expect(send != 0, 0)) send(pool, block, size, is_free);
}
#endif

/* A block was taken from a pool: call it after the allocation. Null blocks are not recorded. Pools
 * with equal names are one pool; at most 240 bytes of a name count. There may be 4095 pools. */
static inline void heaptape_alloc(const char* pool, const void* block, size_t size) {
#ifdef HEAPTAPE_DISABLE
  (void)pool, (void)block, (void)size;
#else
  if (block != 0) heaptape_send_pool(pool, block, size, 0);
#endif
}

/* A block goes back to its pool: call it before the release, so that no other thread can have the
 * block earlier. */
static inline void heaptape_free(const char* pool, const void* block) {
#ifdef HEAPTAPE_DISABLE
  (void)pool, (void)block;
#else
  if (block != 0) heaptape_send_pool(pool, block, 0, 1);
#endif
}

/* All blocks of a pool end at once, as when an arena is emptied. */
static inline void heaptape_pool_reset(const char* pool) {
#ifdef HEAPTAPE_DISABLE
  (void)pool;
#else
  heaptape_send_pool(pool, 0, 0, 1);
#endif
}

#ifdef __cplusplus
}
#endif

#endif
