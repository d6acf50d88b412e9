#include "analysis/memory/paths.h"

#include <algorithm>
#include <utility>

#include "analysis/memory/references.h"

namespace heaptape {

ShortestPaths::ShortestPaths(const HeapView& heap) : heap_(heap) {
  before_.resize(heap.ranks.size());
  std::fill(before_.begin(), before_.end(), kUnreached);
  for (const bool weak : {false, true}) {
    std::vector<std::uint32_t> level;
    for (const RootWord& word : heap.roots.words()) {
      if (heap.roots.is_weak(word) != weak || before_[word.block] != kUnreached) continue;
      before_[word.block] = word.block;
      level.push_back(word.block);
    }
    search_from(std::move(level));
  }
}

void ShortestPaths::search_from(std::vector<std::uint32_t> level) {
  constexpr std::size_t kAhead = 16;
  std::vector<std::uint32_t> next;
  for (; !level.empty(); std::swap(level, next), next.clear()) {
    for (std::size_t i = 0; i < level.size(); ++i) {
      if (i + kAhead < level.size()) heap_.graph.prefetch_edges_of(level[i + kAhead]);
      if (i + kAhead / 2 < level.size()) heap_.graph.prefetch_edge(heap_.graph.first(level[i + kAhead / 2]));
      const std::span<const std::uint32_t> targets = heap_.graph.targets(level[i]);
      for (std::size_t k = 0; k < targets.size(); ++k) {
        if (k + kAhead < targets.size()) __builtin_prefetch(&before_[targets[k + kAhead]], 1);
        if (before_[targets[k]] != kUnreached) continue;
        before_[targets[k]] = level[i];
        next.push_back(targets[k]);
      }
    }
  }
}

std::uint32_t ShortestPaths::length(std::uint32_t block) const {
  if (before_[block] == kUnreached) return 0;
  std::uint32_t length = 1;
  for (; before_[block] != block; block = before_[block]) ++length;
  return length;
}

std::optional<ReferencePath> ShortestPaths::to(std::uint32_t block, std::size_t most) const {
  if (before_[block] == kUnreached) return std::nullopt;
  ReferencePath path;
  const std::uint32_t whole = length(block);
  std::vector<std::uint32_t> blocks; // from the last to the first
  for (std::uint32_t at = block, left = whole;; at = before_[at], --left) {
    if (left <= most) blocks.push_back(at);
    if (before_[at] == at) break;
  }
  if (blocks.empty()) return path;
  // Strong roots first, and words that lead to the start.
  const RootWord* root = nullptr;
  const auto rank = [&](const RootWord& word) { return std::pair(heap_.roots.is_weak(word), word.offset != 0); };
  for (const RootWord& word : heap_.roots.words()) {
    if (word.block == blocks.back() && (root == nullptr || rank(word) < rank(*root))) root = &word;
  }
  path.range = root->range;
  path.steps.push_back({root->block, root->address, root->offset});
  MemoryCursor cursor(heap_.image);
  for (std::size_t i = blocks.size() - 1; i-- > 0;) {
    const std::uint64_t begin = heap_.ranks.begin(blocks[i]);
    PathStep step{blocks[i], 0, ~std::uint64_t{}};
    for_each_word_into(cursor, heap_, blocks[i + 1], begin, std::max(heap_.ranks.end(blocks[i]), begin + 1),
                       [&](std::uint64_t address, std::uint64_t value) {
                         if (value - begin < step.offset) step = {blocks[i], address, value - begin};
                       });
    path.steps.push_back(step);
  }
  return path;
}

} // namespace heaptape
