// Good and bad twins in C: see check_twins.h.
#include "check_twins.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

NOINLINE static void* make_malloc(size_t bytes) { return malloc(bytes); }
NOINLINE static void* make_calloc(size_t bytes) { return calloc(bytes, 1); }
NOINLINE static void* make_realloc(size_t bytes) { return realloc(NULL, bytes); }
NOINLINE static void* make_reallocarray(size_t bytes) { return reallocarray(NULL, bytes, 1); }
NOINLINE static void* make_memalign(size_t bytes) { return memalign(64, bytes); }
NOINLINE static void* make_aligned_alloc(size_t bytes) { return aligned_alloc(32, bytes); }
NOINLINE static void* make_valloc(size_t bytes) { return valloc(bytes); }
NOINLINE static void* make_posix_memalign(size_t bytes) {
  void* block = NULL;
  return posix_memalign(&block, 4096, bytes) == 0 ? block : NULL;
}
NOINLINE static void* make_far_memalign(size_t bytes) { return memalign(1 << 20, bytes); }

// By a function of libc, which calls malloc for `bytes` bytes.
NOINLINE static void* make_strdup(size_t bytes) {
  if (bytes == 0) refuse("a text has a zero at its end", "");
  char* const text = malloc(bytes);
  memset(text, 'B', bytes - 1);
  text[bytes - 1] = 0;
  char* const block = strdup(text);
  free(text);
  return block;
}

// Through reallocs that grow and shrink.
NOINLINE static void* make_by_growth(size_t bytes) {
  void* block = malloc(1);
  for (size_t size = 1; size < bytes; size *= 3) block = realloc(block, size);
  block = realloc(block, bytes + 10);
  return realloc(block, bytes);
}

NOINLINE static void release_free(void* block) { free(block); }
NOINLINE static void release_realloc(void* block) { free(realloc(block, 77)); }
NOINLINE static void release_reallocarray(void* block) { free(reallocarray(block, 7, 11)); }
NOINLINE static void release_realloc_zero(void* block) { free(realloc(block, 0)); }

const struct maker kMakers[] = {{"malloc", make_malloc, release_free},
                                {"calloc", make_calloc, release_free},
                                {"realloc", make_realloc, release_free},
                                {"reallocarray", make_reallocarray, release_free},
                                {"memalign", make_memalign, release_free},
                                {"far_memalign", make_far_memalign, release_free},
                                {"aligned_alloc", make_aligned_alloc, release_free},
                                {"posix_memalign", make_posix_memalign, release_free},
                                {"valloc", make_valloc, release_free},
                                {"strdup", make_strdup, release_free},
                                {"by_growth", make_by_growth, release_free},
                                {NULL, NULL, NULL}};
const struct releaser kReleasers[] = {{"free", release_free},
                                      {"realloc", release_realloc},
                                      {"reallocarray", release_reallocarray},
                                      {"realloc_zero", release_realloc_zero},
                                      {NULL, NULL}};

// usable:MAKER:SIZE  All that malloc_usable_size() allows is written, and one byte more.
static void usable(const struct twin* twin) {
  const struct maker* const maker = find_maker(twin->words[1]);
  const size_t size = number_of(twin->words[2]);
  char* const block = hidden(maker->make(size));
  const size_t room = malloc_usable_size(block);
  if (room < size) refuse("less room than asked for", "");
  for (size_t i = 0; i < room + (twin->bad ? 1 : 0); ++i) ((volatile char*)block)[i] = 'A';
  say(twin, block, room);
  maker->release(block);
}

// zero:MAKER  A block of 0 bytes has no first byte. The good twin has one of 1 byte.
static void zero(const struct twin* twin) {
  const struct maker* const maker = find_maker(twin->words[1]);
  volatile char* const block = hidden(maker->make(twin->bad ? 0 : 1));
  *block = 'A';
  say(twin, (const void*)block, twin->bad ? 0 : 1);
  maker->release((void*)block);
}

// neighbours:SIZE  Of three blocks made one after the other the middle one is written over on both sides.
static void neighbours(const struct twin* twin) {
  const size_t size = number_of(twin->words[1]);
  char* blocks[3];
  for (int i = 0; i < 3; ++i) blocks[i] = hidden(make_malloc(size));
  const size_t more = twin->bad ? 1 : 0;
  for (size_t i = 0; i < size + 2 * more; ++i) ((volatile char*)blocks[1])[i - more] = 'A';
  say(twin, blocks[1], size);
  for (int i = 0; i < 3; ++i) free(blocks[i]);
}

// child:SIZE  A block of the parent is written over in the child of a fork, which ends by exit.
static void child(const struct twin* twin) {
  const size_t size = number_of(twin->words[1]);
  char* const block = hidden(make_malloc(size));
  say(twin, block, size);
  const pid_t pid = fork();
  if (pid == 0) {
    ((volatile char*)block)[size - (twin->bad ? 0 : 1)] = 'A';
    exit(0);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  free(block);
  if (status != 0) exit(1);
}

// many:COUNT  Blocks are made by the parent and by its child, and released by the child.
static void many(const struct twin* twin) {
  const size_t count = number_of(twin->words[1]);
  void** const blocks = make_calloc(2 * count * sizeof(void*));
  for (size_t i = 0; i < count; ++i) blocks[i] = make_malloc(20);
  say(twin, blocks, count);
  const pid_t pid = fork();
  if (pid == 0) {
    for (size_t i = count; i < 2 * count; ++i) blocks[i] = make_malloc(20);
    for (size_t i = 0; i < 2 * count; ++i) free(blocks[i]);
    exit(0);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  for (size_t i = 0; i < count; ++i) free(blocks[i]);
  free(blocks);
  if (status != 0) exit(1);
}

bool run_of_program(const struct twin* twin) {
  static const struct {
    const char* name;
    void (*run)(const struct twin*);
  } kCases[] = {{"usable", usable}, {"zero", zero}, {"neighbours", neighbours}, {"child", child}, {"many", many}};
  for (size_t i = 0; i < sizeof kCases / sizeof kCases[0]; ++i) {
    if (strcmp(kCases[i].name, twin->words[0]) == 0) return kCases[i].run(twin), true;
  }
  return false;
}

int main(int argc, char** argv) { return run_all(argc, argv); }
