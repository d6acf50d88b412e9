// Releases of what cannot be released:
//
//   release:WHAT:RELEASER:SIZE:MAKER
//
// RELEASER is called for the block of SIZE bytes, and WHAT says what is wrong with what it is called with. The good twin calls it once, with
// the block.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check_twins.h"

#define NOINLINE __attribute__((noinline))

enum { kMostRounds = 1000000, kOthers = 300, kRoom = 256 };

static char a_variable[kRoom];
static __thread char a_thread_variable[kRoom];

struct release {
  const struct releaser* releaser;
  const struct maker* maker;
  const struct twin* twin;
  char* block; // released already where the case is about a second release
  size_t size;
};

NOINLINE static void release_bad(const struct release* release, void* what) {
  release->releaser->release(hidden(what));
}
NOINLINE static void release_good(const struct release* release) { release->releaser->release(hidden(release->block)); }

// With the block released once, and then again.
static void second_at_once(const struct release* release) {
  release_good(release);
  release_bad(release, release->block);
}

static void second_later(const struct release* release) {
  void* others[kOthers];
  release_good(release);
  for (int i = 0; i < kOthers; ++i) others[i] = hidden(malloc(release->size));
  for (int i = 0; i < kOthers; ++i) {
    // Where the address was given out again, that block stays.
    if (others[i] != release->block) free(others[i]);
  }
  release_bad(release, release->block);
}

// The address is another block's when the first owner releases it again, so that the new owner's own release is one too many.
static void second_when_reused(const struct release* release) {
  release_good(release);
  for (int i = 0; i < kMostRounds; ++i) {
    void* const next = hidden(release->maker->make(release->size));
    if (next == release->block) {
      release->releaser->release(hidden(release->block));
      break;
    }
    release->maker->release(next);
  }
  release_bad(release, release->block);
}

static void* release_in_thread(void* release) {
  release_bad(release, ((struct release*)release)->block);
  return NULL;
}
static void second_in_thread(const struct release* release) {
  pthread_t thread;
  release_good(release);
  if (pthread_create(&thread, NULL, release_in_thread, (void*)(uintptr_t)release) != 0) refuse("no thread", "");
  pthread_join(thread, NULL);
}

// The block stays and is released in the end, where what was wrong left it alone.
static void inside(const struct release* release, size_t offset) {
  release_bad(release, release->block + offset);
  release_good(release);
}

NOINLINE static void of_stack(const struct release* release) {
  char buffer[kRoom];
  memset(buffer, 0, sizeof buffer);
  say(release->twin, buffer + 16, release->size);
  release_bad(release, buffer + 16);
}

static void elsewhere(const struct release* release, const void* what) {
  say(release->twin, what, release->size);
  release_bad(release, (void*)(uintptr_t)what);
}

static void* mapping(void) {
  void* const memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) refuse("no mapping", "");
  return (char*)memory + 4096 + 16;
}

static bool is(const char* a, const char* b) { return strcmp(a, b) == 0; }

static void run_bad(const struct release* release) {
  const char* const what = release->twin->words[1];
  const bool about_block = is(what, "once-more") || is(what, "later") || is(what, "reused") || is(what, "thread");
  if (about_block) say(release->twin, release->block, release->size);
  if (is(what, "once-more")) return second_at_once(release);
  if (is(what, "later")) return second_later(release);
  if (is(what, "reused")) return second_when_reused(release);
  if (is(what, "thread")) return second_in_thread(release);

  const size_t offset = is(what, "one")       ? 1
                        : is(what, "eight")   ? 8
                        : is(what, "sixteen") ? 16
                        : is(what, "middle")  ? release->size / 2 & ~(size_t)15
                        : is(what, "last")    ? release->size - 1
                        : is(what, "end")     ? release->size
                                              : 0;
  if (offset > 0) {
    say(release->twin, release->block + offset, release->size);
    return inside(release, offset);
  }
  release_good(release);
  if (is(what, "stack")) return of_stack(release);
  if (is(what, "variable")) return elsewhere(release, a_variable + 16);
  if (is(what, "thread-variable")) return elsewhere(release, a_thread_variable + 16);
  if (is(what, "literal")) return elsewhere(release, "a literal of the program");
  if (is(what, "code")) return elsewhere(release, (const void*)(uintptr_t)&run_release);
  if (is(what, "mapping")) return elsewhere(release, mapping());
  if (is(what, "small-number")) return elsewhere(release, (const void*)(uintptr_t)0x10);
  if (is(what, "wild")) return elsewhere(release, (const void*)(uintptr_t)0x123456789ab0);
  if (is(what, "not-canonical")) return elsewhere(release, (const void*)(uintptr_t)0x4141414141414141);
  refuse("no such case", release->twin->text);
}

bool run_release(const struct twin* twin) {
  if (!is(twin->words[0], "release")) return false;
  const size_t size = number_of(twin->words[3]);
  struct release release = {find_releaser(twin->words[2]), find_maker(twin->words[4]), twin, NULL, size};
  release.block = release.maker->make(size);
  if (release.block == NULL) refuse("no memory for", twin->text);
  if (twin->bad) {
    run_bad(&release);
  } else {
    say(twin, release.block, size);
    release_good(&release);
  }
  return true;
}
