#include "report/export/heapsnapshot_nodes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace heaptape {

namespace {

constexpr std::uint64_t kSmall = 10'000; // what holds less than this part of the heap is folded

} // namespace

HeapSnapshotNodes::HeapSnapshotNodes(const ContentsInput& input, std::uint32_t most)
    : is_folding_(input.heap.ranks.size() > most), blocks_(input.heap.ranks.size()) {
  make_groups(input);
  if (is_folding_) {
    fold(input, most);
  } else {
    find_unreached(input);
  }
}

void HeapSnapshotNodes::make_groups(const ContentsInput& input) {
  const Roots& roots = input.heap.roots;
  std::map<std::string, std::size_t> by_name;
  std::vector<std::size_t> of_range(roots.ranges().size(), kNoNode);
  for (std::uint32_t i = 0; i < roots.words().size(); ++i) {
    const RootWord& word = roots.words()[i];
    std::size_t& group = of_range[word.range];
    if (group == kNoNode) {
      std::string name = input.group_name(roots.ranges()[word.range]);
      const auto [found, is_new] = by_name.try_emplace(name, groups_.size());
      if (is_new) groups_.push_back({std::move(name), roots.is_weak(word)});
      group = found->second;
    }
    groups_[group].words.push_back(i);
  }
}

void HeapSnapshotNodes::find_unreached(const ContentsInput& input) {
  for (const LostLeader& leader : input.reachability.leaders()) lost_.push_back(leader.block);
  for (std::uint32_t block = 0; block < input.heap.ranks.size(); ++block) {
    if (input.reachability.strength(block) == PathStrength::Doubtful) doubtful_.push_back(block);
  }
}

// A block that is a node has a holder that is one, because a holder retains more than what it holds. So the tree of holders stays
// as it is but for its leaves, and DevTools find the same sizes.
void HeapSnapshotNodes::fold(const ContentsInput& input, std::uint32_t most) {
  const Dominators& dominators = input.dominators();
  const BlockRanks& ranks = input.heap.ranks;
  const std::uint32_t nodes = dominators.nodes();

  std::uint64_t least = dominators.retained_bytes(Dominators::kRoot) / kSmall + 1;
  {
    std::vector<std::uint64_t> sizes;
    for (std::uint32_t node = 1; node < nodes; ++node) {
      if (dominators.retained_bytes(node) >= least) sizes.push_back(dominators.retained_bytes(node));
    }
    if (sizes.size() > most) {
      const auto last = sizes.begin() + most;
      std::ranges::nth_element(sizes, last, std::greater());
      least = *last + 1;
    }
  }
  const auto is_node = [&](std::uint32_t node) {
    return dominators.block_of(node) != Dominators::kNone && dominators.retained_bytes(node) >= least;
  };

  node_.assign(ranks.size(), kNoNode);
  blocks_ = 0;
  for (std::uint32_t block = 0; block < ranks.size(); ++block) {
    const std::uint32_t node = dominators.node_of(block);
    if (node != Dominators::kNone && is_node(node)) node_[block] = first_block() + blocks_++;
  }

  TableVector<std::uint32_t> below(nodes);                              // blocks of each node and all that it holds
  std::map<std::pair<std::uint32_t, std::uint32_t>, FoldedNode> folded; // by holder and type
  for (std::uint32_t node = nodes - 1; node > 0; --node) {
    const std::uint32_t block = dominators.block_of(node);
    if (block != Dominators::kNone) ++below[node];
    const std::uint32_t holder = dominators.dominator(node);
    below[holder] += below[node];
    if (block == Dominators::kNone || is_node(node)) continue;
    // The roots and the stacks of threads are no blocks.
    const std::uint32_t holding = dominators.block_of(holder);
    if (holding != Dominators::kNone && !is_node(holder)) continue;
    const std::uint32_t type = input.type_of(block);
    FoldedNode& sum = folded[{holding, type}];
    sum.holder = holding;
    sum.type = type;
    sum.blocks += below[node];
    sum.bytes += dominators.retained_bytes(node);
  }
  std::map<std::uint32_t, FoldedNode> lost; // by type
  for (std::uint32_t block = 0; block < ranks.size(); ++block) {
    if (dominators.node_of(block) != Dominators::kNone) continue;
    FoldedNode& sum = lost[input.type_of(block)];
    sum.type = input.type_of(block);
    sum.is_lost = true;
    ++sum.blocks;
    sum.bytes += ranks.bytes(block);
  }
  for (const auto& [key, node] : folded) add_folded(node);
  for (const auto& [type, node] : lost) add_folded(node);
  add_held(input, dominators);
}

void HeapSnapshotNodes::add_folded(FoldedNode node) {
  constexpr std::uint64_t kMost = ~std::uint32_t{}; // there is no room for more in the file
  while (node.bytes > kMost) {
    FoldedNode part = node;
    part.bytes = kMost;
    part.blocks = node.blocks / (node.bytes / kMost + 1);
    node.bytes -= part.bytes;
    node.blocks -= part.blocks;
    folded_.push_back(part);
  }
  folded_.push_back(node);
}

void HeapSnapshotNodes::add_held(const ContentsInput& input, const Dominators& dominators) {
  const BlockRanks& ranks = input.heap.ranks;
  std::vector<bool> is_led_to(ranks.size()); // by its holder
  for (const RootWord& word : input.heap.roots.words()) {
    const std::uint32_t holder = dominators.dominator(dominators.node_of(word.block));
    if (dominators.block_of(holder) == Dominators::kNone) is_led_to[word.block] = true;
  }
  for (std::uint32_t block = 0; block < ranks.size(); ++block) {
    if (node_[block] == kNoNode) continue;
    const std::uint32_t node = dominators.node_of(block);
    for (const std::uint32_t target : input.heap.graph.targets(block)) {
      if (node_[target] != kNoNode && dominators.dominator(dominators.node_of(target)) == node)
        is_led_to[target] = true;
    }
  }
  for (std::uint32_t block = 0; block < ranks.size(); ++block) {
    if (node_[block] == kNoNode || is_led_to[block]) continue;
    held_.push_back({dominators.block_of(dominators.dominator(dominators.node_of(block))), block});
  }
  std::ranges::stable_sort(held_, {}, &Held::holder);
  for (const Held& held : held_) held_blocks_.push_back(held.block);
}

std::span<const std::uint32_t> HeapSnapshotNodes::held_by(std::uint32_t block) const {
  const auto first = std::ranges::lower_bound(held_, block, {}, &Held::holder);
  const auto last = std::ranges::upper_bound(held_, block, {}, &Held::holder);
  return std::span(held_blocks_)
      .subspan(static_cast<std::size_t>(first - held_.begin()), static_cast<std::size_t>(last - first));
}

std::span<const FoldedNode> HeapSnapshotNodes::folded_in(std::uint32_t block) const {
  return {std::ranges::lower_bound(folded_, block, {}, &FoldedNode::holder),
          std::ranges::upper_bound(folded_, block, {}, &FoldedNode::holder)};
}

} // namespace heaptape
