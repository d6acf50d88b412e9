// A complete malloc that never gives memory back and may be called from signal handlers at any moment. Linked as a
// shared library, preloaded, or compiled into an executable. With ARENA_BY_MMAP its memory is a mapping, else zeroed memory of its file.
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { kArenaBytes = 512 << 20, kHeader = 16 };
#ifdef ARENA_BY_MMAP
#include <sys/mman.h>
// Two threads may map it at once; the second one's is given back.
static char* arena_begin(void) {
  static char* _Atomic arena;
  char* known = atomic_load(&arena);
  if (known != NULL) return known;
  char* fresh = mmap(NULL, kArenaBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (fresh == MAP_FAILED) abort();
  if (atomic_compare_exchange_strong(&arena, &known, fresh)) return fresh;
  munmap(fresh, kArenaBytes);
  return known;
}
#else
static _Alignas(4096) char arena[kArenaBytes];
static char* arena_begin(void) { return arena; }
#endif
static atomic_size_t used;
atomic_size_t bump_malloc_calls;

static void* take(size_t alignment, size_t size) {
  if (size > kArenaBytes / 2 || alignment > kArenaBytes / 2) {
    errno = ENOMEM;
    return NULL;
  }
  const size_t room = ((size + 15) & ~(size_t)15) + kHeader + (alignment > 16 ? alignment : 0);
  const size_t start = atomic_fetch_add(&used, room);
  if (start + room > kArenaBytes) {
    errno = ENOMEM;
    return NULL;
  }
  uintptr_t block = (uintptr_t)arena_begin() + start + kHeader;
  if (alignment > 16) block = (block + alignment - 1) & ~(uintptr_t)(alignment - 1);
  ((size_t*)block)[-1] = size;
  return (void*)block;
}

void* malloc(size_t size) {
  atomic_fetch_add(&bump_malloc_calls, 1);
  return take(16, size);
}
void free(void* block) { (void)block; }
size_t malloc_usable_size(void* block) { return block == NULL ? 0 : ((size_t*)block)[-1]; }
void* calloc(size_t count, size_t size) {
  if (size != 0 && count > SIZE_MAX / size) {
    errno = ENOMEM;
    return NULL;
  }
  return take(16, count * size); // the arena is fresh memory
}
void* realloc(void* old, size_t size) {
  void* block = take(16, size);
  if (block != NULL && old != NULL) {
    const size_t had = malloc_usable_size(old);
    memcpy(block, old, had < size ? had : size);
  }
  return block;
}
void* memalign(size_t alignment, size_t size) { return take(alignment, size); }
void* aligned_alloc(size_t alignment, size_t size) { return take(alignment, size); }
int posix_memalign(void** result, size_t alignment, size_t size) {
  void* block = take(alignment, size);
  if (block == NULL) return ENOMEM;
  *result = block;
  return 0;
}
