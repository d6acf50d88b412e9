// Memory for the arrays of the hash tables of blocks.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/check.h"

namespace heaptape {

// Large arrays come straight from the kernel: they are zero, and they go back when freed, while malloc would keep the odd
// sizes of a growing table as holes.
inline constexpr std::size_t kMapFrom = std::size_t{64} << 10;
// From here on most of the time goes into address translation.
inline constexpr std::size_t kHugeFrom = std::size_t{2} << 20;

inline void* allocate_zeroed(std::size_t bytes, std::size_t alignment) {
  void* memory = bytes >= kMapFrom ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                   : std::aligned_alloc(alignment, bytes);
  HT_CHECK(memory != nullptr && memory != MAP_FAILED);
  if (bytes < kMapFrom) std::memset(memory, 0, bytes);
  if (bytes >= kHugeFrom) ::madvise(memory, bytes, MADV_HUGEPAGE);
  return memory;
}

// `bytes` as it was allocated.
inline void release_table(void* memory, std::size_t bytes) {
  if (bytes >= kMapFrom)
    ::munmap(memory, bytes);
  else
    std::free(memory);
}

} // namespace heaptape
