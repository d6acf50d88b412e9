// Writes into blocks that are not there any more, or not that large:
//
//   freed:MAKER:SIZE:WRITER:COUNT:PLACE   after the release
//   cut:MAKER:SIZE:WRITER:COUNT:PLACE     into what a realloc to half the size has cut off
//   old:MAKER:SIZE:WRITER:COUNT:PLACE     through the old pointer after a realloc that gave another
//   reuse:MAKER:SIZE:WRITER:COUNT:PLACE   after the release; then blocks of the same size come and go until the address is given out again
//
// PLACE is first, middle or last. The good twin writes the same while it may.
#include <stdlib.h>
#include <string.h>

#include "check_twins.h"

#define NOINLINE __attribute__((noinline))

enum { kMostRounds = 1000000 };

NOINLINE static void* realloc_half(void* block, size_t size) { return realloc(block, size - size / 2); }
NOINLINE static void* realloc_more(void* block, size_t size) { return realloc(block, size * 2 + 5000); }

static size_t offset_of(const char* place, size_t size, size_t count) {
  if (count > size) refuse("does not fit into the block", "");
  if (strcmp(place, "first") == 0) return 0;
  if (strcmp(place, "middle") == 0) return (size - count) / 2;
  if (strcmp(place, "last") == 0) return size - count;
  refuse("no such place", place);
}

static void come_and_go(const struct maker* maker, const void* until, size_t size) {
  for (int i = 0; i < kMostRounds; ++i) {
    void* const block = maker->make(size);
    maker->release(hidden(block));
    if (block == until) return;
  }
}

bool run_late_write(const struct twin* twin) {
  const char* const kind = twin->words[0];
  const bool cut = strcmp(kind, "cut") == 0, old = strcmp(kind, "old") == 0, reuse = strcmp(kind, "reuse") == 0;
  if (!cut && !old && !reuse && strcmp(kind, "freed") != 0) return false;
  const struct maker* const maker = find_maker(twin->words[1]);
  const size_t size = number_of(twin->words[2]);
  const writer write = find_writer(twin->words[3]);
  const size_t count = number_of(twin->words[4]);
  const size_t kept = cut ? size - size / 2 : 0; // of the block, by the realloc
  const size_t offset = kept + offset_of(twin->words[5], size - kept, count);

  char* const block = maker->make(size);
  if (block == NULL) refuse("no memory for", twin->text);
  char* const seen = hidden(block);
  if (!twin->bad) write(seen, offset, count);
  char* left = NULL;
  if (cut)
    left = realloc_half(block, size);
  else if (old)
    left = realloc_more(block, size);
  else
    maker->release(block);
  if (twin->bad && !(old && left == seen))
    write(seen, offset, count);
  else if (left != NULL)
    memset(left, 'A', cut ? kept : size * 2 + 5000);
  say(twin, seen, size);
  if (reuse) come_and_go(maker, seen, size);
  free(left);
  return true;
}
