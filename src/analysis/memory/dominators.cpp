#include "analysis/memory/dominators.h"

#include <algorithm>

namespace heaptape {

namespace {

constexpr std::uint32_t kNone = Dominators::kNone;
constexpr std::uint32_t kAhead = 8;

} // namespace

// Semi-NCA, by Georgiadis and Tarjan. All numbers below are of nodes in the order in which a depth-first search first meets them:
//
//   1. search      parent of each node in the tree of the search
//   2. references  to each node, from which nodes
//   3. semi[w]     from the last node to the first: the lowest node from which a path leads to w whose other nodes are all higher than w.
//                  Of a reference from a higher node v, the least semi on the way from v up to below w counts; ways once gone are shortened
//   4. dominator   the nearest ancestor in the tree of dominators that is not higher than semi
//
// Never the method of Cooper, Harvey and Kennedy: on one long list linked both ways it does not finish.
class DominatorMaker {
public:
  explicit DominatorMaker(const HeapView& heap) : heap_(heap), graph_(heap.graph) {}
  DominatorMaker(const HeapView& heap, std::span<const OwnedRoot> roots)
      : heap_(heap), graph_(heap.graph), owned_(roots), by_owner_(true) {}

  Dominators make() {
    search();
    find_references();
    find_semi_dominators();
    references_ = {};
    first_ = {};
    ways_ = {};
    find_dominators();
    add_up();
    return std::move(made_);
  }

private:
  struct Way {
    std::uint32_t up;   // the parent, or an ancestor further up
    std::uint32_t semi; // the least from here to below it
  };
  struct Step {
    std::uint32_t node, edge, end;
  };

  std::uint32_t add_node(std::uint32_t block, std::uint32_t parent) {
    const std::uint32_t node = made_.nodes();
    made_.block_.push_back(block);
    made_.dominator_.push_back(parent);
    if (block != kNone) made_.node_[block] = node;
    return node;
  }

  void search() {
    made_.node_.resize(heap_.ranks.size());
    std::fill(made_.node_.begin(), made_.node_.end(), kNone);
    made_.block_.reserve(std::size_t{heap_.ranks.size()} + heap_.threads.size() + 2);
    made_.dominator_.reserve(made_.block_.capacity());
    add_node(kNone, 0);
    for (const RootWord& word : heap_.roots.words()) {
      if (heap_.roots.is_weak(word))
        weak_.push_back(word);
      else if (!by_owner_)
        search_from(word.block, Dominators::kRoot);
    }
    for (const OwnedRoot& root : owned_) {
      if (made_.owners_.empty() || made_.owners_.back().owner != root.owner)
        made_.owners_.push_back({add_node(kNone, Dominators::kRoot), root.owner});
      search_from(root.block, made_.owners_.back().node);
    }
    strong_ = made_.nodes();
    const auto thread_of = [&](const RootWord& word) { return heap_.roots.ranges()[word.range].thread; };
    std::stable_sort(weak_.begin(), weak_.end(),
                     [&](const RootWord& a, const RootWord& b) { return thread_of(a) < thread_of(b); });
    std::erase_if(weak_, [&](const RootWord& word) { return made_.node_[word.block] < strong_; });
    for (const RootWord& word : weak_) {
      if (made_.stacks_.empty() || made_.stacks_.back().thread != thread_of(word))
        made_.stacks_.push_back({add_node(kNone, Dominators::kRoot), thread_of(word)});
      search_from(word.block, made_.stacks_.back().node);
    }
  }

  void search_from(std::uint32_t block, std::uint32_t parent) {
    if (made_.node_[block] != kNone) return;
    steps_.clear();
    enter(block, parent);
    while (!steps_.empty()) {
      Step& step = steps_.back();
      if (step.edge == step.end) {
        steps_.pop_back();
        continue;
      }
      if (step.edge + kAhead < step.end) prefetch(graph_.target(step.edge + kAhead));
      const std::uint32_t target = graph_.target(step.edge++);
      if (made_.node_[target] == kNone) enter(target, step.node);
    }
  }
  void enter(std::uint32_t block, std::uint32_t parent) {
    const Step step{add_node(block, parent), graph_.first(block), graph_.first(block + 1)};
    if (step.edge == step.end) return;
    for (std::uint32_t edge = step.edge; edge < std::min(step.end, step.edge + kAhead); ++edge)
      prefetch(graph_.target(edge));
    steps_.push_back(step);
  }
  void prefetch(std::uint32_t block) const {
    __builtin_prefetch(&made_.node_[block]);
    graph_.prefetch_edges_of(block);
  }

  // Over all edges as they lie in memory; what they lead to is fetched ahead. What only stacks lead to does not count for the rest.
  template <class Visit>
  void for_each_reference(Visit visit) const {
    const std::uint32_t edges = graph_.edges();
    std::uint32_t edge = 0;
    for (std::uint32_t block = 0; block < graph_.blocks(); ++block) {
      const std::uint32_t from = made_.node_[block];
      for (const std::uint32_t end = graph_.first(block + 1); edge < end; ++edge) {
        if (edge + 32 < edges) __builtin_prefetch(&made_.node_[graph_.target(edge + 32)]);
        if (edge + 16 < edges) {
          if (const std::uint32_t ahead = made_.node_[graph_.target(edge + 16)]; ahead != kNone)
            __builtin_prefetch(&first_[ahead], 1);
        }
        if (from == kNone) continue;
        const std::uint32_t to = made_.node_[graph_.target(edge)];
        if (from < strong_ || to >= strong_) visit(from, to);
      }
    }
    for (const RootWord& word : heap_.roots.words()) {
      if (!by_owner_ && !heap_.roots.is_weak(word)) visit(Dominators::kRoot, made_.node_[word.block]);
    }
    auto owner = made_.owners_.begin();
    for (const OwnedRoot& root : owned_) {
      if (owner->owner != root.owner) ++owner;
      visit(owner->node, made_.node_[root.block]);
    }
    auto stack = made_.stacks_.begin();
    for (const RootWord& word : weak_) {
      while (stack->thread != heap_.roots.ranges()[word.range].thread) ++stack;
      visit(stack->node, made_.node_[word.block]);
    }
  }

  void find_references() {
    first_.resize(std::size_t{made_.nodes()} + 1);
    for_each_reference([&](std::uint32_t, std::uint32_t to) { ++first_[to]; });
    std::uint32_t sum = 0; // ends first: they are filled from the back
    for (std::uint32_t& first : first_) first = sum += first;
    references_.resize(sum);
    for_each_reference([&](std::uint32_t from, std::uint32_t to) { references_[--first_[to]] = from; });
  }

  void find_semi_dominators() {
    const std::uint32_t nodes = made_.nodes();
    ways_.resize(nodes);
    semi_.resize(nodes);
    for (std::uint32_t w = nodes; w-- > 1;) {
      std::uint32_t least = made_.dominator_[w]; // the parent, for the time being
      for (std::uint32_t i = first_[w]; i < first_[w + 1]; ++i) {
        const std::uint32_t from = references_[i];
        least = std::min(least, from <= w ? from : least_on_the_way(from, w));
      }
      semi_[w] = least;
      ways_[w] = {made_.dominator_[w], least};
    }
  }
  std::uint32_t least_on_the_way(std::uint32_t from, std::uint32_t below) {
    std::uint32_t top = from;
    for (way_.clear(); ways_[top].up > below; top = ways_[top].up) way_.push_back(top);
    const std::uint32_t up = ways_[top].up;
    std::uint32_t least = ways_[top].semi;
    for (; !way_.empty(); way_.pop_back()) {
      Way& way = ways_[way_.back()];
      way.semi = least = std::min(least, way.semi);
      way.up = up;
    }
    return least;
  }

  void find_dominators() {
    TableVector<std::uint32_t>& dominator = made_.dominator_;
    for (std::uint32_t w = 1; w < made_.nodes(); ++w) {
      std::uint32_t up = dominator[w];
      while (up > semi_[w]) up = dominator[up];
      dominator[w] = up;
    }
    semi_ = {};
  }

  void add_up() {
    made_.retained_.resize(made_.nodes());
    for (std::uint32_t node = made_.nodes(); node-- > 1;) {
      if (made_.block_[node] != kNone) made_.retained_[node] += heap_.ranks.bytes(made_.block_[node]);
      made_.retained_[made_.dominator_[node]] += made_.retained_[node];
    }
  }

  const HeapView& heap_;
  const ReferenceGraph& graph_;
  std::span<const OwnedRoot> owned_{};
  bool by_owner_ = false; // owned_ stands for the strong root words
  Dominators made_;
  std::uint32_t strong_ = 0; // nodes from here on are reached from stacks alone
  std::vector<RootWord> weak_;
  std::vector<Step> steps_;
  TableVector<std::uint32_t> first_, references_; // to each node
  TableVector<Way> ways_;
  TableVector<std::uint32_t> semi_;
  std::vector<std::uint32_t> way_;
};

Dominators Dominators::of(const HeapView& heap) { return DominatorMaker(heap).make(); }
Dominators Dominators::of(const HeapView& heap, std::span<const OwnedRoot> roots) {
  return DominatorMaker(heap, roots).make();
}

DominatorChildren::DominatorChildren(const Dominators& dominators) : dominators_(dominators) {
  const std::uint32_t nodes = dominators.nodes();
  first_.resize(std::size_t{nodes} + 1);
  children_.resize(nodes == 0 ? 0 : nodes - 1);
  for (std::uint32_t node = 1; node < nodes; ++node) ++first_[dominators.dominator(node)];
  std::uint32_t sum = 0;
  for (std::uint32_t& first : first_) first = sum += first;
  for (std::uint32_t node = nodes; node-- > 1;) children_[--first_[dominators.dominator(node)]] = node;
}

std::vector<std::uint32_t> DominatorChildren::largest(std::uint32_t node, std::size_t most) const {
  std::vector<std::uint32_t> children(of(node).begin(), of(node).end());
  const auto more = [&](std::uint32_t a, std::uint32_t b) {
    const std::uint64_t left = dominators_.retained_bytes(a), right = dominators_.retained_bytes(b);
    return left != right ? left > right : a < b;
  };
  most = std::min(most, children.size());
  std::partial_sort(children.begin(), children.begin() + static_cast<std::ptrdiff_t>(most), children.end(), more);
  children.resize(most);
  return children;
}

} // namespace heaptape
