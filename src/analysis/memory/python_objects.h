// What the words of CPython's objects mean that are no references of the program, or none that keep their object alive.
//
//   links of the collector   two words in front of each object that it watches
//   a weak reference         its word behind the type
//   an object without        kept for the next one of its type: but for the next that is kept, its words are left over
//   references
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "analysis/memory/block_ranks.h"
#include "analysis/memory/python_type.h"

namespace heaptape {

// One thread at a time; what it was made with must outlive it.
class PythonObjects {
public:
  static constexpr std::size_t kLinkBytes = 16;

  PythonObjects(const MemoryImage& image, const BlockRanks& ranks) : ranks_(ranks), cursor_(image), types_(image) {}

  // An object that the collector may watch, by the bytes with which its block begins.
  struct Watched {
    static constexpr std::size_t kNone = ~std::size_t{};
    std::size_t links = kNone; // where those of the collector are, in front of the object; kNone: it is no such object
    std::size_t weak = kNone;  // a word that leads to an object and does not keep it
    bool is_kept = false;      // it is not in use
  };
  Watched watched_in(std::span<const std::byte> block);
  // The references that an object at this place counts; 0: it is none, is not in use, or lives for ever and does not count.
  std::uint32_t references_at(std::uint64_t address);
  // Whether the links of an object are there.
  bool are_links(std::uint64_t address);

private:
  bool is_link(std::uint64_t word) const;

  const BlockRanks& ranks_;
  MemoryCursor cursor_;
  PythonTypeCheck types_;
};

} // namespace heaptape
