#include "report/export/flame_tree.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/mix.h"
#include "report/names/charged_function.h"
#include "report/select/runtime_pools.h"

namespace heaptape {
namespace {

class Builder {
public:
  Builder(StackNames& names, bool fold) : names_(names), plumbing_(names), pools_(names), fold_(fold) {
    nodes_.emplace_back();
  }

  void add(const StackFigures& figures) {
    frames_.clear();
    const StackEnd end = names_.each_frame(figures.stack, [&](FrameId frame) { frames_.push_back(frame); });
    std::uint32_t node = 0;
    constexpr std::uint64_t kStandIns = std::uint64_t{1} << 40; // no name has such a number
    if (fold_) {
      if (const std::string_view pool = pools_.of(frames_); !pool.empty()) {
        const std::uint64_t number = pool_numbers_.try_emplace(pool, pool_numbers_.size()).first->second;
        nodes_[child(0, 2 * kStandIns + number, {}, pool)].own += costs_of(figures);
        return;
      }
      fold_plumbing(plumbing_, frames_);
    }
    if (const auto text = stand_in(end, !frames_.empty()); !text.empty()) {
      node = child(node, kStandIns + static_cast<std::uint64_t>(end), {}, text);
    }
    for (std::size_t i = frames_.size(); i-- > 0;) {
      node = child(node, names_[frames_[i]].function.value, frames_[i], {});
    }
    nodes_[node].own += costs_of(figures);
  }

  std::vector<FlameNode>& nodes() { return nodes_; }

private:
  std::uint32_t child(std::uint32_t parent, std::uint64_t name, FrameId frame, std::string_view text) {
    const auto [found, added] = children_.try_emplace({parent, name}, static_cast<std::uint32_t>(nodes_.size()));
    if (added) nodes_.push_back({.parent = parent, .frame = frame, .text = text});
    return found->second;
  }

  struct Hash {
    std::size_t operator()(const std::pair<std::uint32_t, std::uint64_t>& key) const {
      return (mix(key.second) + key.first) * 0xc2b2ae3d27d4eb4f >> 11;
    }
  };
  StackNames& names_;
  Plumbing plumbing_;
  RuntimePools pools_;
  bool fold_;
  std::map<std::string_view, std::uint64_t> pool_numbers_;
  std::vector<FlameNode> nodes_;
  std::vector<FrameId> frames_;
  std::unordered_map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t, Hash> children_;
};

// The largest share of any quantity, with all that is below.
std::vector<double> weights_of(const std::vector<FlameNode>& nodes) {
  std::vector<Costs> sums(nodes.size());
  for (std::size_t i = nodes.size(); i-- > 0;) {
    sums[i] += nodes[i].own;
    if (i != 0) sums[nodes[i].parent] += sums[i];
  }
  std::vector<double> weights(nodes.size());
  const auto share = [](std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (std::size_t q = 0; q < kQuantities.size(); ++q) {
      weights[i] = std::max(
          {weights[i], share(sums[i][q].bytes, sums[0][q].bytes), share(sums[i][q].blocks, sums[0][q].blocks)});
    }
  }
  return weights;
}

} // namespace

Costs& operator+=(Costs& sum, const Costs& more) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
  return sum;
}

Costs costs_of(const Figures& figures) {
  Costs costs;
  for (std::size_t i = 0; i < kQuantities.size(); ++i) costs[i] = cost_of(figures, kQuantities[i]);
  return costs;
}

FlameTree make_flame_tree(const Findings& findings, StackNames& names, std::size_t most, bool fold_plumbing) {
  Builder builder(names, fold_plumbing);
  for (const StackFigures& figures : findings.by_stack) builder.add(figures);
  std::vector<FlameNode>& all = builder.nodes();
  FlameTree tree{.nodes = {}, .places = all.size()};
  if (all.size() <= most) {
    tree.nodes = std::move(all);
    return tree;
  }
  const std::vector<double> weights = weights_of(all);
  std::vector<std::uint32_t> order(all.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  // A parent weighs no less than its children and has the smaller index, so it stays if one of them does.
  std::nth_element(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(),
      [&](std::uint32_t a, std::uint32_t b) { return weights[a] != weights[b] ? weights[a] > weights[b] : a < b; });
  std::vector<bool> stays(all.size());
  for (std::size_t i = 0; i < most; ++i) stays[order[i]] = true;

  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::vector<std::uint32_t> places(all.size());            // in the new tree: of the node, or of what stands for it
  std::vector<std::uint32_t> joined_below(most * 2, kNone); // by place of the parent
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    FlameNode& node = all[i];
    const std::uint32_t parent = places[node.parent];
    const auto next = static_cast<std::uint32_t>(tree.nodes.size());
    if (stays[i]) {
      node.parent = parent;
      places[i] = next;
      tree.nodes.push_back(node);
      continue;
    }
    const bool below_joined = tree.nodes[parent].joined != 0;
    std::uint32_t place = below_joined ? parent : joined_below[parent];
    if (place == kNone) {
      place = joined_below[parent] = next;
      tree.nodes.push_back({.parent = parent});
    }
    tree.nodes[place].own += node.own;
    ++tree.nodes[place].joined;
    places[i] = place;
  }
  return tree;
}

} // namespace heaptape
