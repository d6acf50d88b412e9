#include "report/figures/call_tree.h"

#include <algorithm>
#include <unordered_map>

#include "report/names/charged_function.h"

namespace heaptape {
namespace {

// Frames that stand for what is not there.
constexpr FrameId kNoStack{0xffff'fffd};
constexpr FrameId kCut{0xffff'fffe};
constexpr FrameId kTooDeep{0xffff'ffff};

bool is_real(FrameId frame) { return frame < kNoStack; }

struct Item {
  const StackCost* cost = nullptr;
  std::uint32_t first = 0; // in the builder's frames
  std::uint32_t count = 0;
};

class TreeBuilder {
public:
  TreeBuilder(StackNames& names, const TreeOptions& options) : names_(names), plumbing_(names), options_(options) {
    if (options.by == GroupBy::File) kind_ = TreeNodeKind::File;
    if (options.by == GroupBy::Module) kind_ = TreeNodeKind::Module;
  }

  TreeNode build(std::span<const StackCost> costs) {
    std::vector<Item> items;
    items.reserve(costs.size());
    TreeNode root;
    for (const StackCost& cost : costs) items.push_back(flatten(cost));
    weigh(root, items);
    least_ = options_.threshold_percent / 100 * static_cast<double>(root.weight);
    if (options_.by == GroupBy::Thread)
      divide(root, items, TreeNodeKind::Thread, [](const Item& item) { return item.cost->thread.value; });
    else if (options_.by == GroupBy::Size)
      divide(root, items, TreeNodeKind::Size, [](const Item& item) { return item.cost->size_bucket; });
    else
      grow(root, items, 0, 0);
    return root;
  }

private:
  // The frames in the order of the tree, calls within a file or module joined.
  Item flatten(const StackCost& cost) {
    Item item{&cost, static_cast<std::uint32_t>(frames_.size()), 0};
    stack_.clear();
    const StackEnd end = names_.each_frame(cost.stack, [&](FrameId frame) { stack_.push_back(frame); });
    if (options_.fold_plumbing) fold_plumbing(plumbing_, stack_);
    for (const FrameId frame : stack_) {
      const bool joined =
          kind_ != TreeNodeKind::Function && frames_.size() > item.first && key_of(frames_.back()) == key_of(frame);
      if (!joined) frames_.push_back(frame);
    }
    if (frames_.size() == item.first) frames_.push_back(kNoStack);
    if (end == StackEnd::Cut) frames_.push_back(kCut);
    if (end == StackEnd::TooDeep) frames_.push_back(kTooDeep);
    item.count = static_cast<std::uint32_t>(frames_.size()) - item.first;
    if (options_.direction == TreeDirection::TopDown) std::reverse(frames_.begin() + item.first, frames_.end());
    return item;
  }

  // What frames of one node have in common.
  std::uint64_t key_of(FrameId frame) const {
    if (!is_real(frame)) return ~std::uint64_t{0} - frame.value;
    const NamedFrame& named = names_[frame];
    switch (options_.by) {
    case GroupBy::Line: return std::uint64_t{named.function.value} << 32 | named.line;
    case GroupBy::File:
      // Code without lines is identified by its module.
      if (named.file.value == 0) return std::uint64_t{named.module_name.value} << 32;
      return named.file.value;
    case GroupBy::Module: return named.module_name.value;
    case GroupBy::Function:
    case GroupBy::Thread:
    case GroupBy::Size: break;
    }
    return named.function.value;
  }

  FrameId frame_at(const Item& item, std::uint32_t level) const { return frames_[item.first + level]; }

  template <class Key>
  void divide(TreeNode& root, std::vector<Item>& items, TreeNodeKind kind, Key key) {
    std::stable_sort(items.begin(), items.end(), [&](const Item& a, const Item& b) { return key(a) < key(b); });
    TreeNode pruned{.kind = TreeNodeKind::Pruned};
    for (auto first = items.begin(); first != items.end();) {
      const auto last = std::find_if(first, items.end(), [&](const Item& item) { return key(item) != key(*first); });
      TreeNode node{.kind = kind};
      if (kind == TreeNodeKind::Thread)
        node.thread = ThreadId(key(*first));
      else
        node.size_bucket = key(*first);
      const std::span<Item> run(first, last);
      weigh(node, run);
      if (is_small(node)) {
        leave_out(pruned, node);
      } else {
        if (options_.depth != 1) grow(node, run, 0, 1);
        root.children.push_back(std::move(node));
      }
      first = last;
    }
    finish(root, pruned);
  }

  // Makes the children of a node from the frames at `level` of its items.
  void grow(TreeNode& node, std::span<Item> items, std::uint32_t level, unsigned depth) {
    const auto rest = std::partition(items.begin(), items.end(), [&](const Item& item) { return item.count == level; });
    const std::span<Item> ended(items.begin(), rest), going_on(rest, items.end());
    if (going_on.empty()) return;
    std::sort(rest, items.end(), [&](const Item& a, const Item& b) {
      const std::uint64_t one = key_of(frame_at(a, level)), other = key_of(frame_at(b, level));
      return one != other ? one < other : a.first < b.first; // a fixed order whatever std::partition did
    });
    const bool too_deep = options_.depth != 0 && depth >= options_.depth;
    TreeNode pruned{.kind = too_deep ? TreeNodeKind::Deeper : TreeNodeKind::Pruned};
    for (auto first = going_on.begin(); first != going_on.end();) {
      const std::uint64_t key = key_of(frame_at(*first, level));
      const auto last =
          std::find_if(first, going_on.end(), [&](const Item& item) { return key_of(frame_at(item, level)) != key; });
      const std::span<Item> run(first, last);
      TreeNode child{.kind = kind_, .frame = frame_at(run.front(), level)};
      weigh(child, run);
      if (too_deep || is_small(child)) {
        leave_out(pruned, child);
      } else {
        describe(child, run, level);
        node.children.push_back(std::move(child));
        grow(node.children.back(), run, level + 1, depth + 1);
      }
      first = last;
    }
    if (!ended.empty()) {
      TreeNode itself{.kind = TreeNodeKind::Itself};
      weigh(itself, ended);
      node.children.push_back(std::move(itself));
    }
    finish(node, pruned);
  }

  // Names a node by its frame.
  void describe(TreeNode& node, std::span<const Item> items, std::uint32_t level) const {
    if (!is_real(node.frame)) {
      node.kind = node.frame == kNoStack ? TreeNodeKind::NoStack
                  : node.frame == kCut   ? TreeNodeKind::Cut
                                         : TreeNodeKind::TooDeep;
      return;
    }
    if (kind_ == TreeNodeKind::Module) node.name = names_[node.frame].module_name;
    if (kind_ == TreeNodeKind::File) {
      const NamedFrame& named = names_[node.frame];
      node.name = named.file.value != 0 ? named.file : named.module_name;
      if (named.file.value == 0) node.kind = TreeNodeKind::Module;
    }
    if (kind_ == TreeNodeKind::Function) name_function(node, items, level);
  }

  // Of a function that was passed at several places, the most expensive one gives file and module.
  void name_function(TreeNode& node, std::span<const Item> items, std::uint32_t level) const {
    std::unordered_map<FrameId, Cost> by_frame;
    for (const Item& item : items) by_frame[frame_at(item, level)] += item.cost->cost;
    const auto weight = [&](const Cost& cost) { return weight_of(cost); };
    for (const auto& [frame, cost] : by_frame) {
      const std::uint64_t best = weight(by_frame[node.frame]);
      if (weight(cost) > best || (weight(cost) == best && frame < node.frame)) node.frame = frame;
    }
    node.name = names_[node.frame].function;
    std::unordered_map<std::uint32_t, Cost> by_line;
    for (const auto& [frame, cost] : by_frame) {
      if (names_[frame].line != 0 && names_[frame].file == names_[node.frame].file) by_line[names_[frame].line] += cost;
    }
    node.lines = lines_by_cost(by_line, options_.measure);
  }

  std::uint64_t weight_of(const Cost& cost) const {
    const std::uint64_t weight = measured(cost, options_.measure);
    return options_.changes ? magnitude(weight) : weight;
  }
  void weigh(TreeNode& node, std::span<const Item> items) const {
    for (const Item& item : items) {
      node.cost += item.cost->cost;
      node.weight += weight_of(item.cost->cost);
    }
  }
  bool is_small(const TreeNode& node) const { return static_cast<double>(node.weight) < least_; }
  static void leave_out(TreeNode& pruned, const TreeNode& node) {
    pruned.cost += node.cost;
    pruned.weight += node.weight;
    ++pruned.places;
  }
  void finish(TreeNode& node, const TreeNode& pruned) const {
    std::stable_sort(node.children.begin(), node.children.end(), [&](const TreeNode& a, const TreeNode& b) {
      const std::uint64_t one = weight_of(a.cost), other = weight_of(b.cost);
      if (one != other) return one > other;
      if (a.weight != b.weight) return a.weight > b.weight;
      if (a.cost != b.cost)
        return a.cost.bytes != b.cost.bytes ? a.cost.bytes > b.cost.bytes : a.cost.blocks > b.cost.blocks;
      return names_.text(a.name) < names_.text(b.name);
    });
    if (pruned.places != 0) node.children.push_back(pruned);
  }

  StackNames& names_;
  Plumbing plumbing_;
  const TreeOptions& options_;
  std::vector<FrameId> stack_; // being flattened
  TreeNodeKind kind_ = TreeNodeKind::Function;
  double least_ = 0;
  std::vector<FrameId> frames_;
};

} // namespace

std::vector<LineCost> lines_by_cost(const std::unordered_map<std::uint32_t, Cost>& by_line, Measure measure) {
  std::vector<LineCost> lines;
  for (const auto& [line, cost] : by_line) lines.push_back({line, cost});
  std::sort(lines.begin(), lines.end(), [&](const LineCost& a, const LineCost& b) {
    const std::uint64_t left = measured(a.cost, measure), right = measured(b.cost, measure);
    return left != right ? left > right : a.line < b.line;
  });
  return lines;
}

TreeNode make_call_tree(StackNames& names, std::span<const StackCost> costs, const TreeOptions& options) {
  return TreeBuilder(names, options).build(costs);
}

} // namespace heaptape
