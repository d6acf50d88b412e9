#include "report/figures/call_tree.h"

#include <gtest/gtest.h>

#include <random>

#include "analysis/heap/cost_for_test.h"
#include "report/names/stacks_for_test.h"
#include "wire/stack_roots.h"

namespace heaptape {
namespace {

using test::Stacks;

const char* marker(TreeNodeKind kind) {
  switch (kind) {
  case TreeNodeKind::Itself: return "(itself)";
  case TreeNodeKind::NoStack: return "(no stack)";
  case TreeNodeKind::Cut: return "(cut)";
  case TreeNodeKind::TooDeep: return "(too deep)";
  case TreeNodeKind::Pruned: return "(pruned)";
  case TreeNodeKind::Deeper: return "(deeper)";
  default: return "";
  }
}

// "name bytes{children}", e.g. "60{work 60{main 60}}".
std::string drawn(const StackNames& names, const TreeNode& node) {
  std::string text;
  if (node.kind == TreeNodeKind::Thread) text = "T" + std::to_string(node.thread.value);
  if (node.kind == TreeNodeKind::Size) text = "size" + std::to_string(node.size_bucket);
  text += std::string(names.text(node.name)) + marker(node.kind);
  text += (text.empty() ? "" : " ") + std::to_string(node.cost.bytes);
  if (node.children.empty()) return text;
  text += "{";
  for (const TreeNode& child : node.children) text += (text.back() == '{' ? "" : ", ") + drawn(names, child);
  return text + "}";
}

std::string drawn(Stacks& program, const std::vector<StackCost>& costs, const TreeOptions& options = {}) {
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  return drawn(names, make_call_tree(names, costs, options));
}

TEST(CallTree, CallersLieBelowWhatTheyCall) {
  Stacks program;
  const StackCost a{.stack = program.stack({"main", "load", "work"}), .cost = {40, 1}};
  const StackCost b{.stack = program.stack({"main", "work"}), .cost = {20, 1}};
  const StackCost c{.stack = program.stack({"main", "save"}), .cost = {30, 1}};
  EXPECT_EQ(drawn(program, {a, b, c}), "90{work 60{load 40{main 40}, main 20}, save 30{main 30}}");
}

// 'report --deltas' showed "0 bytes" where the heap had shrunk.
TEST(CallTree, ChangesMayBeNegativeAddUpAndTheLargestComesFirst) {
  Stacks program;
  const Cost less = Cost{0, 0} - Cost{60, 3};
  const StackCost a{.stack = program.stack({"main", "load", "work"}), .cost = {40, 1}};
  const StackCost b{.stack = program.stack({"main", "drop", "work"}), .cost = less};
  const StackCost c{.stack = program.stack({"main", "save"}), .cost = {30, 1}};
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  const TreeNode root = make_call_tree(names, std::vector{a, b, c}, {.changes = true});
  EXPECT_EQ(signed_of(root.cost.bytes), 10);
  EXPECT_EQ(root.weight, 130u);
  ASSERT_EQ(root.children.size(), 2u);
  EXPECT_EQ(names.text(root.children[0].name), "save");
  const TreeNode& work = root.children[1];
  EXPECT_EQ(signed_of(work.cost.bytes), -20);
  EXPECT_EQ(work.weight, 100u);
  ASSERT_EQ(work.children.size(), 2u);
  EXPECT_EQ(signed_of(work.children[0].cost.bytes), -60);
  EXPECT_EQ(signed_of(work.children[0].cost.blocks), -3);
  EXPECT_EQ(signed_of(work.children[1].cost.bytes), 40);
}

TEST(CallTree, TopDownTheCallersComeFirst) {
  Stacks program;
  const StackCost a{.stack = program.stack({"main", "load", "work"}), .cost = {40, 1}};
  const StackCost b{.stack = program.stack({"main", "save"}), .cost = {30, 1}};
  EXPECT_EQ(drawn(program, {a, b}, {.direction = TreeDirection::TopDown}), "70{main 70{load 40{work 40}, save 30}}");
}

TEST(CallTree, WhereStacksEndAndOthersGoOnTheRestIsAChildOfItsOwn) {
  Stacks program;
  const StackCost a{.stack = program.stack({"work"}), .cost = {40, 1}};
  const StackCost b{.stack = program.stack({"main", "work"}), .cost = {30, 1}};
  EXPECT_EQ(drawn(program, {a, b}), "70{work 70{(itself) 40, main 30}}");
}

TEST(CallTree, PlacesBelowTheThresholdAreOneLine) {
  Stacks program;
  const StackCost a{.stack = program.stack({"main", "large"}), .cost = {97, 1}};
  const StackCost b{.stack = program.stack({"main", "small"}), .cost = {2, 7}};
  const StackCost c{.stack = program.stack({"main", "tiny"}), .cost = {1, 1}};
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  const TreeNode tree = make_call_tree(names, std::vector{a, b, c}, {.threshold_percent = 3});
  ASSERT_EQ(tree.children.size(), 2u);
  EXPECT_EQ(tree.children[1].kind, TreeNodeKind::Pruned);
  EXPECT_EQ(tree.children[1].cost, (Cost{3, 8}));
  EXPECT_EQ(tree.children[1].places, 2u);
}

TEST(CallTree, APlaceExactlyAtTheThresholdIsShown) {
  Stacks program;
  const StackCost a{.stack = program.stack({"large"}), .cost = {90, 1}};
  const StackCost b{.stack = program.stack({"small"}), .cost = {10, 1}};
  EXPECT_EQ(drawn(program, {a, b}, {.threshold_percent = 10}), "100{large 90, small 10}");
}

TEST(CallTree, LevelsBelowTheDepthAreOneLine) {
  Stacks program;
  const StackCost a{.stack = program.stack({"main", "load", "work"}), .cost = {40, 1}};
  const StackCost b{.stack = program.stack({"main", "work"}), .cost = {20, 1}};
  EXPECT_EQ(drawn(program, {a, b}, {.depth = 1}), "60{work 60{(deeper) 60}}");
}

TEST(CallTree, OrderAndThresholdMayGoByBlocks) {
  Stacks program;
  const StackCost a{.stack = program.stack({"large"}), .cost = {1000, 1}};
  const StackCost b{.stack = program.stack({"many"}), .cost = {10, 99}};
  EXPECT_EQ(drawn(program, {a, b}, {.measure = Measure::Blocks, .threshold_percent = 5}),
            "1010{many 10, (pruned) 1000}");
}

TEST(CallTree, AFunctionIsOneNodeWhateverTheLineAndKnowsItsLines) {
  Stacks program;
  program.add_place("one", {SourcePlace{.function = "work", .file = "w.c", .line = 10}});
  program.add_place("two", {SourcePlace{.function = "work", .file = "w.c", .line = 20}});
  const StackCost a{.stack = program.stack({"one"}), .cost = {10, 1}},
      b{.stack = program.stack({"two"}), .cost = {30, 1}};
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  const TreeNode tree = make_call_tree(names, std::vector{a, b});
  ASSERT_EQ(tree.children.size(), 1u);
  ASSERT_EQ(tree.children[0].lines.size(), 2u);
  EXPECT_EQ(tree.children[0].lines[0].line, 20u);
  EXPECT_EQ(tree.children[0].lines[1].cost, (Cost{10, 1}));
  EXPECT_EQ(drawn(program, {a, b}, {.by = GroupBy::Line}), "40{work 30, work 10}");
}

TEST(CallTree, FilesAndModulesJoinTheCallsInsideThem) {
  Stacks program;
  program.add_function("main", "main.c", 1);
  program.add_function("run", "main.c", 5);
  program.add_module("/lib/libwork.so");
  program.add_function("work", "", 0);
  const StackCost a{.stack = program.stack({"main", "run", "work", "work"}), .cost = {8, 1}};
  EXPECT_EQ(drawn(program, {a}, {.by = GroupBy::File}), "8{libwork.so 8{main.c 8}}");
  EXPECT_EQ(drawn(program, {a}, {.by = GroupBy::Module}), "8{libwork.so 8{program 8}}");
}

TEST(CallTree, ThreadsAndSizesDivideTheWholeFirst) {
  Stacks program;
  const StackId stack = program.stack({"main"});
  const StackCost a{.stack = stack, .thread = ThreadId(2), .cost = {10, 1}, .size_bucket = 4};
  const StackCost b{.stack = stack, .thread = ThreadId(1), .cost = {5, 1}, .size_bucket = 4};
  EXPECT_EQ(drawn(program, {a, b}, {.by = GroupBy::Thread}), "15{T2 10{main 10}, T1 5{main 5}}");
  EXPECT_EQ(drawn(program, {a, b}, {.by = GroupBy::Size}), "15{size4 15{main 15}}");
}

TEST(CallTree, MissingFramesAreNamed) {
  Stacks program;
  const StackCost none{.stack = StackId(), .cost = {5, 1}};
  const StackCost cut{.stack = program.stack({"work"}, wire::kRootCut), .cost = {7, 1}};
  EXPECT_EQ(drawn(program, {none, cut}), "12{work 7{(cut) 7}, (no stack) 5}");
  EXPECT_EQ(drawn(program, {cut}, {.direction = TreeDirection::TopDown}), "7{(cut) 7{work 7}}");
}

TEST(CallTree, NothingMakesAnEmptyTree) {
  Stacks program;
  EXPECT_EQ(drawn(program, {}), "0");
}

void expect_exact(const TreeNode& node) {
  Cost sum;
  for (const TreeNode& child : node.children) {
    sum += child.cost;
    expect_exact(child);
  }
  if (!node.children.empty()) {
    EXPECT_EQ(node.cost, sum);
  }
}

TEST(CallTree, ChildrenAlwaysAddUpToTheirParent) {
  std::mt19937 random(7);
  Stacks program;
  std::vector<StackCost> costs;
  Cost sum;
  for (int i = 0; i < 300; ++i) {
    std::vector<std::string> path;
    for (std::size_t depth = random() % 7; path.size() < depth;) path.push_back("f" + std::to_string(random() % 6));
    costs.push_back({.stack = program.stack(path, random() % 9 == 0 ? wire::kRootCut : 0),
                     .thread = ThreadId(random() % 4),
                     .cost = {random() % 1000, 1 + random() % 5},
                     .size_bucket = static_cast<std::uint32_t>(random() % 5)});
    sum += costs.back().cost;
  }
  for (const GroupBy by :
       {GroupBy::Function, GroupBy::Line, GroupBy::File, GroupBy::Module, GroupBy::Thread, GroupBy::Size})
    for (const TreeDirection direction : {TreeDirection::BottomUp, TreeDirection::TopDown})
      for (const double threshold : {0.0, 1.0, 5.0})
        for (const unsigned depth : {0u, 2u}) {
          StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
          const TreeNode tree = make_call_tree(
              names, costs, {.direction = direction, .by = by, .threshold_percent = threshold, .depth = depth});
          EXPECT_EQ(tree.cost, sum);
          expect_exact(tree);
        }
}

} // namespace
} // namespace heaptape
