#include "analysis/memory/new_holders.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "analysis/memory/edge_cursor.h"
#include "analysis/memory/table_vector.h"

namespace heaptape {
namespace {

bool is_new_node(const Dominators& dominators, const std::vector<bool>& is_new, std::uint32_t node) {
  const std::uint32_t block = dominators.block_of(node);
  return block != Dominators::kNone && is_new[block];
}

// For each node the first new one on the way to it from the last that is not; kNone: it is not new itself.
TableVector<std::uint32_t> outermost_new(const Dominators& dominators, const std::vector<bool>& is_new) {
  TableVector<std::uint32_t> outermost(dominators.nodes());
  for (std::uint32_t node = 0; node < dominators.nodes(); ++node) {
    outermost[node] = Dominators::kNone;
    if (!is_new_node(dominators, is_new, node)) continue;
    const std::uint32_t above = outermost[dominators.dominator(node)]; // has a lower number
    outermost[node] = above != Dominators::kNone ? above : node;
  }
  return outermost;
}

} // namespace

std::vector<NewHolding> new_holdings(const HeapView& heap, const Dominators& dominators, const RetainedTree& tree,
                                     const NewBlocks& blocks) {
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  const TableVector<std::uint32_t> outermost = outermost_new(dominators, blocks.is_new);
  const auto retained = [&](std::uint32_t block) {
    const std::uint32_t node = dominators.node_of(block);
    return node == Dominators::kNone ? heap.ranks.bytes(block) : dominators.retained_bytes(node);
  };
  std::map<Key, NewHolding> found;
  Key last_key{};
  NewHolding* last = nullptr;
  for (std::uint32_t block = 0; block < heap.ranks.size(); ++block) {
    if (!blocks.is_new[block] || blocks.what_of[block] == NewBlocks::kNotAsked) continue;
    const std::uint32_t node = dominators.node_of(block);
    const bool is_held = node != Dominators::kNone;
    const std::uint32_t group = is_held ? tree.group_of(node) : NewHolding::kNone;
    const std::uint32_t first = is_held ? tree.group_of(outermost[node]) : NewHolding::kNone;
    const Key key(blocks.what_of[block], group, first);
    if (last == nullptr || key != last_key) {
      last = &found[key];
      last_key = key;
    }
    const std::uint32_t holder =
        is_held ? dominators.block_of(dominators.dominator(outermost[node])) : NewHolding::kNone;
    if (last->blocks == 0) last->holder = holder;
    if (last->holder != holder) last->holder = NewHolding::kNone;
    if (last->blocks++ == 0 || retained(block) > retained(last->example)) {
      last->what = blocks.what_of[block];
      last->group = group;
      last->first = first;
      last->example = block;
      last->outermost = is_held ? dominators.block_of(outermost[node]) : block;
    }
    last->bytes += heap.ranks.bytes(block);
  }
  std::vector<NewHolding> list;
  list.reserve(found.size());
  for (const auto& [key, holding] : found) list.push_back(holding);
  std::ranges::stable_sort(list, [](const NewHolding& a, const NewHolding& b) {
    if (a.what != b.what) return a.what < b.what;
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.blocks > b.blocks;
  });
  return list;
}

std::vector<HeldAt> held_at(const HeapView& heap, const Dominators& dominators, const RetainedTree& tree,
                            const std::vector<bool>& is_new, std::span<const std::uint32_t> groups) {
  std::vector<HeldAt> places(groups.size());
  std::unordered_map<std::uint32_t, std::size_t> wanted;
  for (std::size_t i = 0; i < groups.size(); ++i) wanted.emplace(groups[i], i);
  // The group's place in `groups` when the node is a new block of it that a block of the group above holds, which was there before.
  const auto place_of = [&](std::uint32_t node) {
    if (node == Dominators::kNone || !is_new_node(dominators, is_new, node)) return wanted.end();
    const std::uint32_t holder = dominators.dominator(node);
    if (dominators.block_of(holder) == Dominators::kNone || is_new_node(dominators, is_new, holder))
      return wanted.end();
    const auto found = wanted.find(tree.group_of(node));
    return found != wanted.end() && tree.groups()[found->first].parent == tree.group_of(holder) ? found : wanted.end();
  };
  std::vector<bool> holds(heap.ranks.size());
  for (std::uint32_t node = 0; node < dominators.nodes(); ++node)
    if (place_of(node) != wanted.end()) holds[dominators.block_of(dominators.dominator(node))] = true;
  EdgeCursor edges(heap);
  for (std::uint32_t block = 0; block < heap.ranks.size(); ++block) {
    if (!holds[block]) continue;
    edges.go_to(block);
    while (const auto edge = edges.next()) {
      const std::uint32_t node = dominators.node_of(edge->target);
      if (node == Dominators::kNone || dominators.dominator(node) != dominators.node_of(block)) continue;
      const auto place = place_of(node);
      if (place == wanted.end() || edge->offset == WalkedEdge::kUnknown) continue;
      HeldAt& at = places[place->second];
      at.lowest = std::min(at.lowest, edge->offset);
      at.highest = std::max(at.highest, edge->offset);
    }
  }
  for (std::size_t i = 0; i < groups.size(); ++i) places[i] = places[wanted[groups[i]]];
  return places;
}

std::vector<std::vector<std::uint32_t>> referrers_of(const HeapView& heap, std::span<const std::uint32_t> blocks,
                                                     std::size_t most) {
  std::vector<std::vector<std::uint32_t>> referrers(blocks.size());
  std::vector<bool> is_wanted(heap.ranks.size());
  std::unordered_map<std::uint32_t, std::size_t> places;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    is_wanted[blocks[i]] = true;
    places.emplace(blocks[i], i);
  }
  if (blocks.empty()) return referrers;
  for (std::uint32_t block = 0; block < heap.graph.blocks(); ++block) {
    for (const std::uint32_t target : heap.graph.targets(block)) {
      if (!is_wanted[target] || target == block) continue;
      std::vector<std::uint32_t>& list = referrers[places[target]];
      if (list.size() < most && (list.empty() || list.back() != block)) list.push_back(block);
    }
  }
  return referrers;
}

} // namespace heaptape
