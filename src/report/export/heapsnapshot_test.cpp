#include "report/export/heapsnapshot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/memory/held_heap_for_test.h"

namespace heaptape {
namespace {

// What DevTools would make of a file.
class ReadSnapshot {
public:
  struct Node {
    std::uint64_t kind, name, id, bytes, edge_count, trace, detached;
  };
  struct Edge {
    std::uint64_t kind, name, to;
  };

  explicit ReadSnapshot(const std::string& file) {
    const std::vector<std::uint64_t> nodes = numbers(file, "\n\"nodes\":["), edges = numbers(file, "\n\"edges\":[");
    for (std::size_t i = 0; i + 7 <= nodes.size(); i += 7)
      nodes_.push_back({nodes[i], nodes[i + 1], nodes[i + 2], nodes[i + 3], nodes[i + 4], nodes[i + 5], nodes[i + 6]});
    for (std::size_t i = 0; i + 3 <= edges.size(); i += 3) edges_.push_back({edges[i], edges[i + 1], edges[i + 2]});
    EXPECT_NE(file.find("\"node_count\":" + std::to_string(nodes_.size()) + ","), std::string::npos);
    EXPECT_NE(file.find("\"edge_count\":" + std::to_string(edges_.size()) + ","), std::string::npos);
    std::size_t at = file.find("\"strings\":[") + 11;
    while (file[at] == '"' || file[at] == ',' || file[at] == '\n') { // none of these tests' strings has a quote in it
      at = file.find('"', at) + 1;
      strings_.push_back(file.substr(at, file.find('"', at) - at));
      at += strings_.back().size() + 1;
    }
    for (const Node& node : nodes_) {
      first_edge_.push_back(sum_);
      sum_ += node.edge_count;
      EXPECT_LT(node.name, strings_.size());
    }
    EXPECT_EQ(sum_, edges_.size());
  }

  // "name -> target, name -> target" of the node with this name.
  std::string edges_of(const std::string& name) const {
    const auto found = std::ranges::find(nodes_, name, [&](const Node& node) { return strings_.at(node.name); });
    if (found == nodes_.end()) return "no such node";
    const auto number = static_cast<std::size_t>(found - nodes_.begin());
    std::string text;
    for (std::size_t i = first_edge_[number]; i < first_edge_[number] + found->edge_count; ++i) {
      const Edge& edge = edges_[i];
      EXPECT_EQ(edge.to % 7, 0U);
      text += text.empty() ? "" : ", ";
      text += edge.kind == 6 ? "weak " : "";
      text += edge.kind == 1 ? "[" + std::to_string(edge.name) + "]" : strings_.at(edge.name);
      text += " -> " + strings_.at(nodes_.at(edge.to / 7).name);
    }
    return text;
  }
  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const Node& node : nodes_) all.insert(strings_.at(node.name));
    return all;
  }
  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const Node& node : nodes_) sum += node.bytes;
    return sum;
  }
  // Whether each node can be reached from the first.
  bool hangs_together() const {
    std::vector<std::size_t> waiting{0};
    std::set<std::size_t> reached{0};
    while (!waiting.empty()) {
      const std::size_t node = waiting.back();
      waiting.pop_back();
      for (std::size_t i = first_edge_[node]; i < first_edge_[node] + nodes_[node].edge_count; ++i) {
        if (edges_[i].kind != 6 && reached.insert(edges_[i].to / 7).second) waiting.push_back(edges_[i].to / 7);
      }
    }
    return reached.size() == nodes_.size();
  }

private:
  static std::vector<std::uint64_t> numbers(const std::string& file, std::string_view begin) {
    std::vector<std::uint64_t> all;
    const char* at = file.data() + file.find(begin) + begin.size();
    for (const char* const end = file.data() + file.size(); at < end && *at != ']';) {
      std::uint64_t number = 0;
      const auto parsed = std::from_chars(at, end, number);
      if (parsed.ec == std::errc()) all.push_back(number);
      at = parsed.ec == std::errc() ? parsed.ptr : at + 1;
    }
    return all;
  }

  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<std::string> strings_;
  std::vector<std::size_t> first_edge_;
  std::size_t sum_ = 0;
};

// A made-up heap whose blocks are of the type with the number of their group.
struct Exported {
  HeldHeap held;
  std::vector<ExportedType> types{{"Tree"}, {"Node"}, {"<make_text>", false}};
  HeapSnapshotWritten written{};

  std::string file(std::uint32_t most_blocks = 1000) {
    const HeapView heap = held.view();
    const Reachability reach = Reachability::of(heap);
    std::optional<Dominators> dominators;
    const ContentsInput input{
        .heap = heap,
        .reachability = reach,
        .dominators = [&]() -> const Dominators& { return dominators.emplace(Dominators::of(heap)); },
        .types = types,
        .type_of = [&](std::uint32_t block) { return heap.ranks.group(block); },
        .event_of = [](std::uint32_t block) { return block + 1; },
        .group_name = [](const RootRange& range) { return is_weak(range.kind) ? "stack" : "variables"; },
        .word_name = [](const RootRange& range, std::uint64_t at) { return std::to_string(at - range.begin); }};
    std::string text;
    Sink sink([&](std::string_view bytes) -> Result<> {
      text += bytes;
      return Unit{};
    });
    written = export_heapsnapshot(input, {.most_blocks = most_blocks}, sink);
    EXPECT_TRUE(sink.finish().ok());
    return text;
  }
};

TEST(HeapSnapshot, ReferencesAreNamedByWhereTheyLie) {
  Exported exported;
  HeapForTest& heap = exported.held.heap;
  const std::uint32_t tree = heap.add(100'000, 0), node = heap.add(32, 1);
  exported.held.global(tree);
  heap.point(tree, 0x18, node);
  heap.point(tree, 0x28, node, 8);
  heap.point(tree, 80'000, node);
  const ReadSnapshot snapshot(exported.file());
  EXPECT_EQ(snapshot.edges_of("variables"), "0 -> Tree");
  EXPECT_EQ(snapshot.edges_of("Tree"), "+0x18 -> Node, +0x28 -> Node, [80000] -> Node");
  EXPECT_EQ(snapshot.bytes(), 100'032U);
  EXPECT_TRUE(snapshot.hangs_together());
}

TEST(HeapSnapshot, WhatNothingLeadsToHangsAmongTheLost) {
  Exported exported;
  HeapForTest& heap = exported.held.heap;
  const std::uint32_t tree = heap.add(64, 0), node = heap.add(32, 1);
  heap.point(tree, 0, node);
  const ReadSnapshot snapshot(exported.file());
  EXPECT_EQ(snapshot.edges_of("(lost blocks)"), "lost -> Tree");
  EXPECT_EQ(snapshot.edges_of("Tree"), "+0x0 -> Node");
  EXPECT_TRUE(snapshot.hangs_together());
}

TEST(HeapSnapshot, AStackThatPointsIntoATreeDoesNotHoldIt) {
  Exported exported;
  HeldHeap& held = exported.held;
  const std::uint32_t tree = held.heap.add(64, 0), node = held.heap.add(32, 1);
  held.global(tree);
  held.heap.point(tree, 0, node);
  held.slot(held.thread(), node);
  const ReadSnapshot snapshot(exported.file());
  EXPECT_EQ(snapshot.edges_of("stack").substr(0, 5), "weak ");
}

TEST(HeapSnapshot, TextIsShownAsText) {
  Exported exported;
  HeapForTest& heap = exported.held.heap;
  const std::uint32_t text = heap.add(64, 2), bytes = heap.add(64, 2), cut = heap.add(400, 2);
  heap.pages.put_text(heap.at(text), "a key\n of Größe");
  heap.pages.put_text(heap.at(bytes), "a \x01 b");
  heap.pages.put_text(heap.at(cut), std::string(119, 'x') + "ö" + std::string(200, 'y'));
  const std::set<std::string> names = ReadSnapshot(exported.file()).names();
  EXPECT_TRUE(names.contains("a key\\u000a of Größe"));
  EXPECT_TRUE(names.contains("<make_text>"));
  EXPECT_TRUE(names.contains(std::string(119, 'x') + "…"));
}

TEST(HeapSnapshot, ALargeHeapIsFoldedBelowWhatHoldsTheSmallBlocks) {
  Exported exported;
  HeldHeap& held = exported.held;
  // A tree that leads to 50 tiny blocks, and to a large one through two of them.
  const std::uint32_t tree = held.heap.add(1 << 20, 0);
  held.global(tree);
  std::vector<std::uint32_t> tiny;
  for (std::uint32_t i = 0; i < 50; ++i) {
    tiny.push_back(held.heap.add(24, 1));
    held.heap.point(tree, i * 8, tiny.back());
  }
  const std::uint32_t large = held.heap.add(1 << 19, 0), lost = held.heap.add(40, 1);
  held.heap.point(tiny[0], 0, large);
  held.heap.point(tiny[1], 0, large);
  const std::uint64_t bytes = (1U << 20) + (1U << 19) + 50 * 24 + 40;
  EXPECT_EQ(ReadSnapshot(exported.file()).bytes(), bytes);

  const ReadSnapshot folded(exported.file(10));
  EXPECT_EQ(folded.bytes(), bytes);
  EXPECT_TRUE(folded.hangs_together());
  EXPECT_EQ(folded.edges_of("Tree"), "holds -> Tree, holds -> 50 × Node");
  EXPECT_EQ(folded.edges_of("(lost blocks)"), "holds -> 1 × Node");
  EXPECT_EQ(exported.written.folded_blocks, 51U);
  (void)lost;
}

TEST(HeapSnapshot, OfALongListNoMoreThanThatManyBlocksAreShown) {
  Exported exported;
  HeldHeap& held = exported.held;
  std::uint32_t last = held.heap.add(64, 1);
  held.global(last);
  for (std::uint32_t i = 0; i < 100; ++i) {
    const std::uint32_t next = held.heap.add(64, 1);
    held.heap.point(last, 0, next);
    last = next;
  }
  const ReadSnapshot folded(exported.file(20));
  EXPECT_EQ(exported.written.folded_blocks, 81U);
  EXPECT_EQ(folded.bytes(), 101U * 64);
  EXPECT_TRUE(folded.hangs_together());
}

} // namespace
} // namespace heaptape
