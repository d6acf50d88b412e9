// Writes behind and before a block while it is there:
//
//   over|under:MAKER:SIZE:WRITER:COUNT:FATE
//
// COUNT bytes behind the end or before the begin; the good twin writes as many at the block's end or begin. FATE is what becomes of the
// block afterwards: free, grow, shrink, move (realloc, then free), or kept.
#include <stdlib.h>
#include <string.h>

#include "check_twins.h"

#define NOINLINE __attribute__((noinline))

NOINLINE static void release_grown(void* block, size_t size) { free(realloc(block, size + 1)); }
NOINLINE static void release_moved(void* block, size_t size) { free(realloc(block, size * 2 + 5000)); }
NOINLINE static void release_shrunk(void* block, size_t size) { free(realloc(block, size / 2 + 1)); }

static void end_of_block(const struct maker* maker, void* block, size_t size, const char* fate) {
  if (strcmp(fate, "free") == 0)
    maker->release(block);
  else if (strcmp(fate, "grow") == 0)
    release_grown(block, size);
  else if (strcmp(fate, "move") == 0)
    release_moved(block, size);
  else if (strcmp(fate, "shrink") == 0)
    release_shrunk(block, size);
  else if (strcmp(fate, "kept") != 0)
    refuse("no such end of a block", fate);
}

static size_t less_of(size_t a, size_t b) { return a < b ? a : b; }

bool run_write(const struct twin* twin) {
  const bool over = strcmp(twin->words[0], "over") == 0;
  if (!over && strcmp(twin->words[0], "under") != 0) return false;
  const struct maker* const maker = find_maker(twin->words[1]);
  const size_t size = number_of(twin->words[2]);
  const writer write = find_writer(twin->words[3]);
  const size_t count = number_of(twin->words[4]);

  char* const block = maker->make(size);
  if (block == NULL) refuse("no memory for", twin->text);
  char* const seen = hidden(block);
  const size_t fits = less_of(count, size);
  if (strcmp(twin->words[3], "stride") == 0) {
    if (twin->bad)
      write(seen, size, count);
    else
      write(seen, 0, size / 40); // all that fit
  } else if (twin->bad) {
    over ? write(seen, size, count) : write(seen - count, 0, count);
  } else if (fits > 0) {
    over ? write(seen, size - fits, fits) : write(seen, 0, fits);
  }
  say(twin, block, size);
  end_of_block(maker, seen, size, twin->words[5]);
  return true;
}
