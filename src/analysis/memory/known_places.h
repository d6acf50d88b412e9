// Places inside of blocks to which programs point on purpose. A reference to such a place is as good as one to the block's start.
//
//   offset below 8           low bits of the pointer carry a flag
//   a habit                  16 blocks or more of one group are referred to at this very offset; or of one size, made by one function
//   an array's cookie        operator new[] keeps the number of elements in front of them
//   a length in front        the first word is the number of bytes behind it
//   a string's header        std::string of the old ABI: length, capacity, count of references, then the text
//   an object of CPython     behind the links of its collector
//   its attributes           their values, behind the order in which they were set
//   a thread's table         of where its variables lie: the loader points behind its first entry
//   an alignment            whoever aligned the block himself keeps its start there
//   what was thrown          the C++ runtime keeps a header in front of it, and points into that
//   a second base            the words at the start and at the place lead to tables of virtual functions
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "analysis/memory/heap_view.h"
#include "tape/maps.h"

namespace heaptape {

// Whether this address may be that of a table of virtual functions.
using MayBeVtable = std::function<bool(std::uint64_t address)>;
// It may where a module has data that were read from its file.
MayBeVtable vtables_in(std::span<const MappedRange> regions, std::span<const std::string> names);
// Where the code is that makes the blocks of a group; 0: not known. Groups may have it in common.
using MakerOf = std::function<std::uint64_t(std::uint32_t group)>;

// Const calls may come from any thread.
class KnownPlaces {
public:
  KnownPlaces() = default; // none but low bits
  static KnownPlaces of(const HeapView& heap, const MayBeVtable& may_be_vtable, const MakerOf& maker_of = {});

  bool holds(const BlockRanks& ranks, std::uint32_t block, std::uint32_t offset) const {
    return offset < kFlagBits || (!habits_.empty() && habits_.contains(key(ranks.group(block), offset))) ||
           (!places_.empty() && places_.contains(key(block, offset)));
  }
  // Marks the edges of the graph that lead to such places.
  void mark(const BlockRanks& ranks, ReferenceGraph& graph) const;

private:
  static constexpr std::uint32_t kFlagBits = 8;
  static std::uint64_t key(std::uint32_t high, std::uint32_t low) { return std::uint64_t{high} << 32 | low; }

  void add_habits_of_makers(const BlockRanks& ranks, std::span<const std::uint64_t> places, const MakerOf& maker_of);

  std::unordered_set<std::uint64_t> habits_; // group and offset
  std::unordered_set<std::uint64_t> places_; // block and offset
};

} // namespace heaptape
