// An allocator with operators new and delete of its own, to be preloaded, in four makes:
//
//   (none)               neither new nor delete uses malloc and free
//   -DBY_MALLOC          both do
//   -DLARGE_BY_MALLOC    both do for large blocks only
//   -DDELETE_BY_FREE     delete alone does
#include "bump_malloc.c"

// By a pointer, so that the loader's choice of malloc is called, which is the recorder's, and no compiler knows better.
static void* (*volatile any_malloc)(size_t) = malloc;
static void (*volatile any_free)(void*) = free;
enum { kLarge = 10000 };

static void* make(size_t size) {
#if defined(BY_MALLOC)
  return any_malloc(size);
#elif defined(LARGE_BY_MALLOC)
  if (size >= kLarge) return any_malloc(size);
#endif
  return take(16, size);
}

static void drop(void* block) {
#if defined(BY_MALLOC) || defined(DELETE_BY_FREE)
  any_free(block);
#elif defined(LARGE_BY_MALLOC)
  if (malloc_usable_size(block) >= kLarge) any_free(block);
#endif
  (void)block;
}

void* operator_new(size_t size) __asm__("_Znwm");
void* operator_new(size_t size) { return make(size); }
void* operator_new_array(size_t size) __asm__("_Znam");
void* operator_new_array(size_t size) { return make(size); }
void operator_delete(void* block) __asm__("_ZdlPv");
void operator_delete(void* block) { drop(block); }
void operator_delete_array(void* block) __asm__("_ZdaPv");
void operator_delete_array(void* block) { drop(block); }
void operator_delete_sized(void* block, size_t size) __asm__("_ZdlPvm");
void operator_delete_sized(void* block, size_t size) {
  (void)size;
  drop(block);
}
void operator_delete_array_sized(void* block, size_t size) __asm__("_ZdaPvm");
void operator_delete_array_sized(void* block, size_t size) {
  (void)size;
  drop(block);
}
