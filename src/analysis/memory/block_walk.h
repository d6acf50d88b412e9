// The contents of blocks in order of address: each piece of memory is unpacked once, and what lies between blocks is not.
#pragma once

#include <algorithm>
#include <cstdint>

#include "analysis/memory/block_ranks.h"
#include "analysis/memory/memory_image.h"

namespace heaptape {

// For the blocks [from, till) that are `wanted`: visit(block, address, bytes) for each part of it that is stored, in order. Of a run of
// pages that repeat one word one page per block is shown. Ends early when `visit` gives false.
template <class Wanted, class Visit>
void walk_blocks(MemoryCursor& cursor, const BlockRanks& ranks, std::uint32_t from, std::uint32_t till, Wanted wanted,
                 Visit visit) {
  std::uint64_t at = 0; // what lies before it in the block is done
  for (std::uint32_t block = from; block < till;) {
    if (!wanted(block)) {
      ++block;
      continue;
    }
    at = std::max(at, ranks.begin(block));
    const MemoryPiece piece = cursor.next_piece(at, ranks.end(till - 1));
    if (piece.bytes.empty()) return;
    while (block < till && ranks.end(block) <= piece.address) ++block;
    for (; block < till && ranks.begin(block) < piece.end(); ++block) {
      const std::uint64_t begin = std::max(ranks.begin(block), piece.address);
      const std::uint64_t end = std::min(ranks.end(block), piece.end());
      if (begin < end && wanted(block) && !visit(block, begin, piece.bytes.subspan(begin - piece.address, end - begin)))
        return;
      if (ranks.end(block) > piece.end()) break;
    }
    if (block < till && ranks.begin(block) < piece.end()) { // there is more of it
      at = piece.next;
      if (at >= ranks.end(block)) ++block, at = 0; // no more but repetition, in which the next one may lie too
    }
  }
}

} // namespace heaptape
