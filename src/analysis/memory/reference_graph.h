// Which block refers to which: every aligned word of a live block that is an address in a live block is an edge.
//
//   first   0   2   2   5         block 0 has edges 0 and 1, block 1 none, block 2 edges 2 to 4
//   to      2   1   0   0   1
//   kind    S   I   S   K   S     2 bits each: to the start, to a known place inside, to another one
//
// 4 bytes per block and 4.25 per edge, and 4 for each edge that leads inside of a block. Where in its block the word lies is not kept:
// paths.h finds it again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "analysis/memory/block_ranks.h"
#include "analysis/memory/memory_image.h"
#include "analysis/memory/table_vector.h"
#include "analysis/memory/word_batch.h"
#include "base/result.h"

namespace heaptape {

struct GraphOptions {
  unsigned threads = 1;
  PointerForm form{};
  // CPython's collector links all objects it watches in one list, by two words in front of each. These are not references of the
  // program, and would make each object hold all others. Weak references and objects that are not in use hold nothing either.
  bool cpython = false;
};

// Where a reference leads.
enum class EdgeKind : std::uint8_t { Start, KnownInside, Inside };

// Const calls may come from any thread.
class ReferenceGraph {
public:
  // Fails for 2^32 edges and more.
  static Result<ReferenceGraph> of(const MemoryImage& image, const BlockRanks& ranks, const GraphOptions& options = {});

  std::uint32_t blocks() const { return static_cast<std::uint32_t>(first_.size() - 1); }
  std::uint32_t edges() const { return first_.back(); }
  std::uint64_t interior_edges() const { return offsets_.size(); }
  // The edges of a block are [first(block), first(block + 1)).
  std::uint32_t first(std::uint32_t block) const { return first_[block]; }
  std::uint32_t target(std::uint32_t edge) const { return to_[edge]; }
  std::span<const std::uint32_t> targets(std::uint32_t block) const {
    return std::span(to_).subspan(first_[block], first_[block + 1] - first_[block]);
  }
  EdgeKind kind(std::uint32_t edge) const {
    return static_cast<EdgeKind>(kinds_[edge / kPerWord] >> (edge % kPerWord * 2) & 3);
  }
  void prefetch_edges_of(std::uint32_t block) const { __builtin_prefetch(&first_[block]); }
  void prefetch_edge(std::uint32_t edge) const { __builtin_prefetch(to_.data() + edge); } // may be behind the last one

  // All edges that do not lead to a start, in order: visit(edge, target, offset in it). Offsets end at 2^32 - 1.
  template <class Visit>
  void for_each_interior(Visit visit) const {
    std::size_t next = 0;
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      for (std::uint64_t rest = kinds_[i]; rest != 0;) {
        const auto place = static_cast<std::uint32_t>(std::countr_zero(rest)) / 2;
        rest &= ~(std::uint64_t{3} << place * 2);
        const auto edge = static_cast<std::uint32_t>(i * kPerWord + place);
        visit(edge, to_[edge], offsets_[next++]);
      }
    }
  }
  // From now on this edge, which leads inside, leads to a known place there. One thread, and no other call meanwhile.
  void set_known(std::uint32_t edge) {
    std::uint64_t& word = kinds_[edge / kPerWord];
    word = (word & ~(std::uint64_t{3} << edge % kPerWord * 2)) | static_cast<std::uint64_t>(EdgeKind::KnownInside)
                                                                     << edge % kPerWord * 2;
  }

  const GraphOptions& options() const { return options_; }
  std::size_t memory_bytes() const { return bytes_of(first_) + bytes_of(to_) + bytes_of(kinds_) + bytes_of(offsets_); }

private:
  friend class GraphMaker;
  static constexpr std::uint32_t kPerWord = 32;

  GraphOptions options_;
  TableVector<std::uint32_t> first_;
  TableVector<std::uint32_t> to_;
  TableVector<std::uint64_t> kinds_;
  TableVector<std::uint32_t> offsets_; // of the edges that do not lead to a start, in order
};

} // namespace heaptape
