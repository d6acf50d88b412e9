#include "analysis/memory/retained_tree.h"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <utility>

namespace heaptape {

namespace {

constexpr std::uint32_t kOutside = Dominators::kNone;
// From this depth on a block joins any group above that is of its kind, so that structures that lead to each other in turn, such as
// dictionaries in lists in dictionaries, do not make a tree as deep as they are.
constexpr std::uint32_t kFoldDepth = 10;
constexpr std::uint32_t kMostStepsUp = 64;

} // namespace

class RetainedTreeMaker {
public:
  RetainedTreeMaker(const Dominators& dominators, const BlockRanks& ranks, const RetainedQuestion& question)
      : dominators_(dominators), ranks_(ranks), question_(question) {}

  RetainedTree make() {
    group_of_.resize(dominators_.nodes());
    std::fill(group_of_.begin(), group_of_.end(), kOutside);
    tree_.groups_.push_back({});
    group_of_[question_.from] = 0;
    if (const std::uint32_t block = dominators_.block_of(question_.from); block != Dominators::kNone)
      add_block(tree_.groups_[0], question_.from, block);
    // What is dominated has higher numbers.
    for (std::uint32_t node = question_.from + 1; node < dominators_.nodes(); ++node) {
      const std::uint32_t holder = dominators_.dominator(node);
      if (group_of_[holder] != kOutside) add(node, holder);
    }
    add_up();
    return std::move(tree_);
  }

private:
  void add(std::uint32_t node, std::uint32_t holder) {
    const std::uint32_t block = dominators_.block_of(node);
    std::uint32_t above = group_of_[holder];
    if (holder == Dominators::kRoot) above = group_in(above, question_.holder_of(node));
    if (block == Dominators::kNone) {
      group_of_[node] = above;
      return;
    }
    const std::uint32_t kind = question_.kind_of[block];
    const std::uint32_t group = joins(block, kind, holder, above) ? above : folded(above, kind);
    group_of_[node] = group;
    add_block(tree_.groups_[group], node, block);
  }

  // Whether the block is one more of the group that holds it.
  bool joins(std::uint32_t block, std::uint32_t kind, std::uint32_t holder, std::uint32_t above) const {
    const RetainedGroup& group = tree_.groups_[above];
    if (above == 0 || group.is_root() || group.kind != kind) return false;
    return question_.is_type(kind) || ranks_.bytes(block) == ranks_.bytes(dominators_.block_of(holder));
  }
  std::uint32_t folded(std::uint32_t above, std::uint32_t kind) {
    if (tree_.groups_[above].depth >= kFoldDepth) {
      std::uint32_t up = above;
      for (std::uint32_t i = 0; i < kMostStepsUp && up != 0 && !tree_.groups_[up].is_root(); ++i) {
        if (tree_.groups_[up].kind == kind) return up;
        up = tree_.groups_[up].parent;
      }
    }
    return group_in(above, kind);
  }
  std::uint32_t group_in(std::uint32_t parent, std::uint32_t kind) {
    const std::uint64_t key = std::uint64_t{parent} << 32 | kind;
    if (key == last_.first) return last_.second;
    const auto [place, is_new] = known_.try_emplace(key, static_cast<std::uint32_t>(tree_.groups_.size()));
    if (is_new) tree_.groups_.push_back({.parent = parent, .depth = tree_.groups_[parent].depth + 1, .kind = kind});
    last_ = {key, place->second};
    return place->second;
  }
  void add_block(RetainedGroup& group, std::uint32_t node, std::uint32_t block) const {
    if (group.blocks++ == 0) {
      group.largest = node;
      group.maker = ranks_.group(block);
    }
    if (dominators_.retained_bytes(node) > dominators_.retained_bytes(group.largest)) group.largest = node;
    if (group.maker != ranks_.group(block)) group.maker = RetainedGroup::kMixed;
    group.bytes += ranks_.bytes(block);
  }

  void add_up() {
    std::vector<RetainedGroup>& groups = tree_.groups_;
    tree_.first_.assign(groups.size() + 1, 0);
    tree_.held_.resize(groups.size() - 1);
    for (std::size_t i = groups.size(); i-- > 0;) {
      groups[i].retained_blocks += groups[i].blocks;
      groups[i].retained_bytes += groups[i].bytes;
      if (i == 0) break;
      groups[groups[i].parent].retained_blocks += groups[i].retained_blocks;
      groups[groups[i].parent].retained_bytes += groups[i].retained_bytes;
      ++tree_.first_[groups[i].parent];
    }
    std::uint32_t sum = 0; // ends first: they are filled from the back
    for (std::uint32_t& first : tree_.first_) first = sum += first;
    for (std::size_t i = groups.size(); i-- > 1;)
      tree_.held_[--tree_.first_[groups[i].parent]] = static_cast<std::uint32_t>(i);
    for (std::size_t i = 0; i < groups.size(); ++i)
      std::stable_sort(
          tree_.held_.begin() + tree_.first_[i], tree_.held_.begin() + tree_.first_[i + 1],
          [&](std::uint32_t a, std::uint32_t b) { return groups[a].retained_bytes > groups[b].retained_bytes; });
  }

  const Dominators& dominators_;
  const BlockRanks& ranks_;
  const RetainedQuestion& question_;
  RetainedTree tree_;
  TableVector<std::uint32_t>& group_of_ = tree_.group_of_; // kOutside where it was not asked about
  std::unordered_map<std::uint64_t, std::uint32_t> known_;
  std::pair<std::uint64_t, std::uint32_t> last_{~std::uint64_t{}, 0};
};

RetainedTree RetainedTree::of(const Dominators& dominators, const BlockRanks& ranks, const RetainedQuestion& question) {
  return RetainedTreeMaker(dominators, ranks, question).make();
}

std::vector<std::uint32_t> RetainedTree::largest(std::size_t most) const {
  const auto less = [&](std::uint32_t a, std::uint32_t b) {
    const std::uint64_t left = groups_[a].retained_bytes, right = groups_[b].retained_bytes;
    return left != right ? left < right : a > b;
  };
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, decltype(less)> next(less);
  std::vector<bool> chosen(groups_.size());
  const auto look_at = [&](std::uint32_t group) {
    for (const std::uint32_t held : held_by(group)) next.push(held);
  };
  look_at(0);
  for (std::size_t i = 0; i < most && !next.empty(); ++i) {
    const std::uint32_t group = next.top();
    next.pop();
    chosen[group] = true;
    look_at(group);
  }
  std::vector<std::uint32_t> in_order, steps{0};
  while (!steps.empty()) {
    const std::uint32_t group = steps.back();
    steps.pop_back();
    if (group != 0) in_order.push_back(group);
    const std::span<const std::uint32_t> held = held_by(group);
    for (std::size_t i = held.size(); i-- > 0;)
      if (chosen[held[i]]) steps.push_back(held[i]);
  }
  return in_order;
}

} // namespace heaptape
