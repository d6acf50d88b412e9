#include "report/export/flame_tree.h"

#include <gtest/gtest.h>

#include "report/export/exported_for_test.h"

namespace heaptape {
namespace {

using test::ExportedTape;
using test::Stacks;
using test::Story;

Cost sum_of(const FlameTree& tree, Quantity quantity) {
  Cost sum;
  for (const FlameNode& node : tree.nodes) sum += node.own[static_cast<std::size_t>(quantity)];
  return sum;
}

// A hundred functions below main, each calling one more, of growing cost.
ExportedTape wide_tape(Stacks& stacks) {
  Story story;
  for (std::uint32_t i = 1; i <= 100; ++i) {
    const std::string name = "f" + std::to_string(i);
    story.by(1, stacks.stack({"main", name, name + "_inner"}).value).make(i * 1000, i);
  }
  return ExportedTape(story, stacks);
}

TEST(FlameTree, ASmallTreeIsWhole) {
  Stacks stacks;
  ExportedTape tape = wide_tape(stacks);
  const FlameTree tree = make_flame_tree(tape.findings(), tape.names(), 1000);
  EXPECT_EQ(tree.nodes.size(), 202u); // the root, main, and two for each
  EXPECT_EQ(tree.places, 202u);
  EXPECT_EQ(sum_of(tree, Quantity::Peak), (Cost{5050, 100}));
}

TEST(FlameTree, ALargeTreeKeepsItsHeaviestPlacesAndAllItsCosts) {
  Stacks stacks;
  ExportedTape tape = wide_tape(stacks);
  const FlameTree tree = make_flame_tree(tape.findings(), tape.names(), 20);
  EXPECT_EQ(tree.places, 202u);
  EXPECT_LE(tree.nodes.size(), 40u);
  EXPECT_EQ(sum_of(tree, Quantity::Peak), (Cost{5050, 100}));
  EXPECT_EQ(sum_of(tree, Quantity::Allocated), (Cost{5050, 100}));
  bool heaviest = false, lightest = false;
  std::uint64_t joined = 0, kept = 0;
  for (const FlameNode& node : tree.nodes) {
    EXPECT_LE(node.parent, static_cast<std::uint32_t>(&node - tree.nodes.data()));
    joined += node.joined;
    kept += node.joined == 0;
    if (node.joined != 0 || &node == tree.nodes.data()) continue;
    heaviest |= tape.names().function(node.frame) == "f100";
    lightest |= tape.names().function(node.frame) == "f1";
  }
  EXPECT_TRUE(heaviest);
  EXPECT_FALSE(lightest);
  EXPECT_EQ(kept + joined, 202u);
}

} // namespace
} // namespace heaptape
