// Which code of a program is an allocator's.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "tape/contents.h"

namespace heaptape {

enum class Allocator : std::uint8_t {
  Glibc,
  Jemalloc,
  Tcmalloc,
  Mimalloc,
  Snmalloc,
  Hoard,
  Tbb,
  Scudo,
  Rpmalloc,
  Musl
};
// By the name of a library's file; nullopt: it is none of an allocator, or of glibc.
std::optional<Allocator> allocator_named(std::string_view path);

// Tells the stacks of mapping calls that an allocator made for itself: those with a frame of the recorder in them, for then a hooked
// malloc was on the way and the allocator behind it called mmap, and those whose innermost frame is in the library of an allocator.
// One thread at a time; the stacks must outlive it.
class AllocatorStacks {
public:
  AllocatorStacks(const std::vector<Module>& modules, const std::vector<StackNode>& stacks);
  bool operator()(StackId stack);

private:
  struct Range {
    std::uint64_t begin, end;
  };
  static bool holds(const std::vector<Range>& ranges, std::uint64_t pc);

  const std::vector<StackNode>& stacks_;
  std::vector<Range> recorder_, allocators_;
  std::unordered_map<StackId, bool> known_;
};

} // namespace heaptape
