// Which words refer to an address, and where they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/memory/heap_view.h"

namespace heaptape {

enum class Holder : std::uint8_t { Root, Block, Elsewhere };

struct Reference {
  Holder holder = Holder::Elsewhere;
  std::uint32_t number = 0;  // of the root range or the block; of Elsewhere 0
  std::uint64_t address = 0; // of the word; in registers see kExtendedRegisters
  std::uint64_t value = 0;   // where it leads
};

struct ReferenceQuestion {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;      // words that lead to [begin, end) count
  bool everywhere = false;    // also in memory that is neither a root nor in a live block: freed memory, most of all
  std::size_t most = 1 << 20; // references at most
};

struct ReferenceAnswer {
  std::vector<Reference> references{}; // roots, then blocks by address, then the rest by address
  bool cut = false;                    // there are more
};

// Milliseconds for a range in one live block, when not everywhere; else as long as it takes to read all memory.
ReferenceAnswer references_to(const HeapView& heap, const ReferenceQuestion& question);

// The words of a block that lead to [begin, end), in order: visit(address of the word, where it leads).
template <class Visit>
void for_each_word_into(MemoryCursor& cursor, const HeapView& heap, std::uint32_t block, std::uint64_t begin,
                        std::uint64_t end, Visit visit) {
  const PointerForm form = heap.graph.options().form;
  cursor.for_each_piece(heap.ranks.begin(block), heap.ranks.end(block),
                        [&](std::uint64_t address, std::span<const std::byte> bytes) {
                          for (std::size_t at = -address % 8; at + 8 <= bytes.size(); at += 8) {
                            std::uint64_t word;
                            std::memcpy(&word, &bytes[at], sizeof word);
                            if (word < begin || word >= end) word = form.address(word);
                            if (word >= begin && word < end) visit(address + at, word);
                          }
                        });
}

} // namespace heaptape
