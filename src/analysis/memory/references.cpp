#include "analysis/memory/references.h"

#include <algorithm>

#include "analysis/memory/block_walk.h"

namespace heaptape {

namespace {

constexpr std::uint64_t kWord = 8;

class Searcher {
public:
  Searcher(const HeapView& heap, const ReferenceQuestion& question)
      : heap_(heap), question_(question), form_(heap.graph.options().form), cursor_(heap.image) {}

  ReferenceAnswer search() {
    if (question_.begin >= question_.end) return {};
    for_each_root_word(heap_.roots.ranges(), heap_.threads, heap_.image, heap_.ranks,
                       [&](std::uint32_t range, std::uint64_t address, std::uint64_t word) {
                         look(Holder::Root, range, address, word);
                       });
    const std::uint32_t block = heap_.ranks.find(question_.begin);
    if (block != BlockRanks::kNone && heap_.ranks.find(question_.end - 1) == block)
      search_sources_of(block);
    else
      search_blocks();
    if (question_.everywhere) search_elsewhere();
    return std::move(answer_);
  }

private:
  void look(Holder holder, std::uint32_t number, std::uint64_t address, std::uint64_t word) {
    const auto fits = [&](std::uint64_t value) { return value >= question_.begin && value < question_.end; };
    if (!fits(word)) word = form_.address(word);
    if (!fits(word)) return;
    if (answer_.references.size() < question_.most)
      answer_.references.push_back({holder, number, address, word});
    else
      answer_.cut = true;
  }

  // The graph knows which blocks refer to this one, but for itself.
  void search_sources_of(std::uint32_t target) {
    const ReferenceGraph& graph = heap_.graph;
    std::uint32_t source = 0;
    std::uint32_t done = BlockRanks::kNone;
    const auto search_block = [&](std::uint32_t block) {
      if (block == done) return;
      done = block;
      for_each_word_into(cursor_, heap_, block, question_.begin, question_.end,
                         [&](std::uint64_t address, std::uint64_t word) { look(Holder::Block, block, address, word); });
    };
    bool own_done = false;
    for (std::uint32_t edge = 0; edge < graph.edges() && !answer_.cut; ++edge) {
      if (graph.target(edge) != target) continue;
      source = source_of(edge);
      if (!own_done && source > target) {
        search_block(target);
        own_done = true;
      }
      search_block(source);
    }
    if (!own_done) search_block(target);
  }
  std::uint32_t source_of(std::uint32_t edge) const {
    std::uint32_t low = 0, high = heap_.graph.blocks(); // the edge is at or behind first(low), before first(high)
    while (high - low > 1) {
      const std::uint32_t middle = low + (high - low) / 2;
      (heap_.graph.first(middle) <= edge ? low : high) = middle;
    }
    return low;
  }

  void look_at_all(Holder holder, std::uint32_t number, std::uint64_t address, std::span<const std::byte> bytes) {
    for (std::size_t at = -address % kWord; at + kWord <= bytes.size(); at += kWord) {
      std::uint64_t word;
      std::memcpy(&word, &bytes[at], sizeof word);
      look(holder, number, address + at, word);
    }
  }
  void search_blocks() {
    walk_blocks(
        cursor_, heap_.ranks, 0, heap_.ranks.size(), [](std::uint32_t) { return true; },
        [&](std::uint32_t block, std::uint64_t address, std::span<const std::byte> bytes) {
          look_at_all(Holder::Block, block, address, bytes);
          return !answer_.cut;
        });
  }

  void search_elsewhere() {
    const auto is_root = [&](std::uint64_t address) {
      const std::span<const RootRange> ranges = heap_.roots.ranges();
      const auto behind = std::partition_point(ranges.begin(), ranges.end(),
                                               [&](const RootRange& range) { return range.end <= address; });
      return behind != ranges.end() && behind->begin <= address;
    };
    cursor_.for_each_piece(0, MemoryImage::kEnd, [&](std::uint64_t address, std::span<const std::byte> bytes) {
      for_each_gap(heap_.ranks, address, address + bytes.size(), [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t at = (begin + kWord - 1) & ~(kWord - 1); at + kWord <= end; at += kWord) {
          std::uint64_t word;
          std::memcpy(&word, &bytes[at - address], sizeof word);
          if ((word >= question_.begin && word < question_.end) || form_ != PointerForm()) {
            if (!is_root(at)) look(Holder::Elsewhere, 0, at, word);
          }
        }
      });
    });
  }

  const HeapView& heap_;
  const ReferenceQuestion question_;
  const PointerForm form_;
  MemoryCursor cursor_;
  ReferenceAnswer answer_;
};

} // namespace

ReferenceAnswer references_to(const HeapView& heap, const ReferenceQuestion& question) {
  return Searcher(heap, question).search();
}

} // namespace heaptape
