// The allocator that would be the program's without us.
#pragma once

#include <cstddef>

namespace heaptape::recorder {

// Where blocks come from for which there is no room, and whose blocks are released by who stands behind us.
struct AllocatorBehind {
  void* (*malloc)(std::size_t);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*memalign)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void (*free)(void*);
  std::size_t (*usable_size)(void*);
};

} // namespace heaptape::recorder
