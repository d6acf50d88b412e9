#include "collector/events/stack_folder.h"

#include <gtest/gtest.h>

#include "collector/recording/fake_program.h"

namespace heaptape {
namespace {

TEST(StackFolder, NumbersAreDenseInOrderOfUseAndParentsComeFirst) {
  FakeProgram program;
  StackFolder folder(program.memory.nodes());
  const std::uint32_t main = program.node(0, 0x100);
  const std::uint32_t unused = program.node(main, 0x150);
  const std::uint32_t f = program.node(main, 0x200);
  const std::uint32_t g = program.node(f, 0x300);
  (void)unused;
  EXPECT_EQ(folder.fold(g), StackId(3));
  EXPECT_EQ(folder.fold(main), StackId(1));
  EXPECT_EQ(folder.fold(f), StackId(2));
  EXPECT_EQ(folder.fold(0), StackId());
  EXPECT_EQ(folder.new_nodes(), (std::vector<StackNode>{{StackId(), 0x100}, {StackId(1), 0x200}, {StackId(2), 0x300}}));
  EXPECT_EQ(folder.first_new(), StackId(1));
  folder.clear_new();
  EXPECT_EQ(folder.fold(program.node(g, 0x400)), StackId(4));
  EXPECT_EQ(folder.first_new(), StackId(4));
  EXPECT_EQ(folder.new_nodes().size(), 1u);
}

TEST(StackFolder, TwinsAndTheirChildrenFoldIntoOne) {
  FakeProgram program;
  StackFolder folder(program.memory.nodes());
  const std::uint32_t a = program.node(0, 0x100), twin = program.node(0, 0x100);
  const std::uint32_t b = program.node(a, 0x200), twin_b = program.node(twin, 0x200);
  EXPECT_EQ(folder.fold(b), StackId(2));
  EXPECT_EQ(folder.fold(twin_b), StackId(2));
  EXPECT_EQ(folder.fold(twin), StackId(1));
  EXPECT_EQ(folder.count(), 2u);
}

TEST(StackFolder, ManyNodesKeepTheirNumbers) {
  FakeProgram program;
  StackFolder folder(program.memory.nodes());
  std::vector<std::uint32_t> wire;
  for (std::uint32_t i = 0; i < 50'000; ++i) wire.push_back(program.node(i == 0 ? 0 : wire[i / 2], 0x1000 + i));
  for (std::uint32_t id : wire) folder.fold(id);
  EXPECT_EQ(folder.count(), 50'000u);
  for (std::uint32_t i = 0; i < wire.size(); ++i) EXPECT_EQ(folder.fold(wire[i]), StackId(i + 1));
  const auto twin = program.node(wire[100], 0x1000 + 200);
  EXPECT_EQ(folder.fold(twin), folder.fold(wire[200]));
}

TEST(StackFolder, IdsThatMakeNoSenseAreNoStack) {
  FakeProgram program;
  StackFolder folder(program.memory.nodes());
  EXPECT_EQ(folder.fold(wire::kNodeCapacity), StackId());
  EXPECT_EQ(folder.fold(~0u), StackId());
  EXPECT_EQ(folder.fold(12345), StackId()); // never written
  EXPECT_EQ(folder.damaged(), 3u);
  EXPECT_EQ(folder.count(), 0u);
}

TEST(StackFolder, AParentBeyondTheTableEndsTheStackThere) {
  FakeProgram program;
  StackFolder folder(program.memory.nodes());
  EXPECT_EQ(folder.fold(program.node(~0u, 0x100)), StackId(1));
  EXPECT_EQ(folder.new_nodes(), (std::vector<StackNode>{{StackId(), 0x100}}));
  EXPECT_EQ(folder.damaged(), 1u);
}

TEST(StackFolder, ParentsThatFormACircleEndSomewhere) {
  FakeProgram program;
  StackFolder folder(program.memory.nodes());
  const std::uint32_t a = program.node(2, 0x100); // its parent is the next node
  const std::uint32_t b = program.node(a, 0x200);
  EXPECT_NE(folder.fold(b), StackId());
  EXPECT_EQ(folder.damaged(), 1u);
  EXPECT_LE(folder.count(), 2u);
}

} // namespace
} // namespace heaptape
