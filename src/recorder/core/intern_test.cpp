#include "recorder/core/intern.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "recorder/core/test_memory.h"

namespace heaptape::recorder {
namespace {

struct Path {
  std::uint32_t id = 0;
  std::uint64_t hash = kRootHash;
  void add(InternTable& table, std::uint64_t pc) {
    hash = path_hash(hash, pc);
    id = table.intern(id, pc, hash);
  }
};

TEST(InternTable, TheSamePathHasTheSameNumber) {
  TestMemory memory;
  InternTable table;
  ASSERT_TRUE(table.start(memory.bytes(), memory.header().config));
  Path first;
  Path second;
  for (std::uint64_t pc : {0x401000u, 0x402000u, 0x403000u}) first.add(table, pc);
  for (std::uint64_t pc : {0x401000u, 0x402000u, 0x403000u}) second.add(table, pc);
  EXPECT_EQ(first.id, second.id);
  EXPECT_EQ(first.id, 3u) << "three frames, and number 0 for no stack";
}

TEST(InternTable, TheSameAddressUnderAnotherCallerIsAnotherStack) {
  TestMemory memory;
  InternTable table;
  ASSERT_TRUE(table.start(memory.bytes(), memory.header().config));
  Path first;
  Path second;
  first.add(table, 0x401000);
  second.add(table, 0x402000);
  first.add(table, 0x405000);
  second.add(table, 0x405000);
  EXPECT_NE(first.id, second.id);
}

TEST(InternTable, NumbersSurviveWhenTheTableGrows) {
  TestMemory memory;
  InternTable table;
  ASSERT_TRUE(table.start(memory.bytes(), memory.header().config));
  constexpr std::uint32_t kPaths = 40000; // the first table holds 2^14 entries, half of them used
  std::vector<std::uint32_t> ids;
  for (std::uint64_t i = 0; i < kPaths; ++i) {
    Path path;
    path.add(table, 0x400000 + i * 16);
    ids.push_back(path.id);
  }
  for (std::uint64_t i = 0; i < kPaths; ++i) {
    Path path;
    path.add(table, 0x400000 + i * 16);
    ASSERT_EQ(path.id, ids[i]);
  }
}

TEST(InternTable, AHeaderThatSomebodyWroteOverNeitherStopsNorMisleadsIt) {
  TestMemory memory(8, 256, 4);
  InternTable table;
  ASSERT_TRUE(table.start(memory.bytes(), memory.header().config));
  std::memset(memory.bytes(), 0xff, sizeof(wire::Header));
  constexpr std::uint32_t kPaths = 40000; // the first table holds 2^14: if it did not grow, no search would end
  std::set<std::uint32_t> ids;
  for (std::uint64_t i = 0; i < kPaths; ++i) {
    Path path;
    path.add(table, 0x400000 + i * 16);
    ids.insert(path.id);
  }
  EXPECT_EQ(ids.size(), kPaths);
}

TEST(InternTable, WhenItIsFullTheCallersNumberIsGivenAndCounted) {
  TestMemory memory(8, 256, 1);
  InternTable table;
  ASSERT_TRUE(table.start(memory.bytes(), memory.header().config));
  const std::uint32_t capacity = memory.header().config.node_capacity;
  Path outer;
  outer.add(table, 0x400000);
  for (std::uint64_t i = 0; i < capacity; ++i) {
    Path path = outer;
    path.add(table, 0x500000 + i * 16);
  }
  Path last = outer;
  last.add(table, 0x900000);
  EXPECT_EQ(last.id, outer.id);
  EXPECT_GT(memory.loss(wire::Loss::StackTableFull), 0u);
}

TEST(InternTable, ManyThreadsAtOnceNeverMixUpPaths) {
  TestMemory memory(8, 256, 5);
  InternTable table;
  ASSERT_TRUE(table.start(memory.bytes(), memory.header().config));
  constexpr std::uint64_t kPaths = 20000;
  std::vector<std::vector<std::uint32_t>> ids(4);
  std::vector<std::thread> threads;
  for (std::vector<std::uint32_t>& mine : ids) {
    threads.emplace_back([&table, &mine] {
      for (std::uint64_t i = 0; i < kPaths; ++i) {
        Path path;
        path.add(table, 0x400000 + i % 97 * 16);
        path.add(table, 0x500000 + i * 16);
        mine.push_back(path.id);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // Twins are allowed, but a number must lead back to its own path.
  for (const std::vector<std::uint32_t>& mine : ids) {
    for (std::uint64_t i = 0; i < kPaths; ++i) {
      const wire::StackNode& leaf = memory.node(mine[i]);
      ASSERT_EQ(leaf.pc.load(), 0x500000 + i * 16);
      const wire::StackNode& root = memory.node(leaf.parent.load());
      ASSERT_EQ(root.pc.load(), 0x400000 + i % 97 * 16);
      ASSERT_EQ(root.parent.load(), 0u);
    }
  }
}

} // namespace
} // namespace heaptape::recorder
