#include "collector/events/pool_collector.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "collector/recording/fake_program.h"

namespace heaptape {
namespace {

RingItem item_of(EventKind kind, std::uint64_t address, std::uint64_t size_field, std::uint32_t slot = 0) {
  RingItem item{};
  item.word0 = static_cast<std::uint64_t>(kind);
  item.word1 = address | (size_field >> 32) << 48;
  item.word2 = size_field & 0xffff'ffff;
  item.slot = slot;
  return item;
}

// The records of a program, and the events that come of them.
class PoolRecords : public ::testing::Test {
protected:
  using As = PoolCollector::Taken::As;
  void name(std::uint32_t pool, const char* text, wire::PoolNameKind kind = wire::PoolNameKind::Given) {
    pools.add_name(item_of(EventKind::PoolName, 0, wire::pool_size_field(static_cast<std::uint32_t>(kind), pool)),
                   text);
  }
  // The event that made the freed block, 0: none; nullopt: the record is not an event, and `as` says why.
  std::optional<std::uint64_t> take_in(const RingItem& item) {
    event = Event{};
    event.number = ++number;
    event.kind = item.kind();
    event.address = item.address();
    event.stack = stack;
    const PoolCollector::Taken taken = pools.take_in(item, event);
    as = taken.as;
    if (as != As::Event) return std::nullopt;
    return taken.allocated_at;
  }
  std::optional<std::uint64_t> make(std::uint32_t pool, std::uint64_t address, std::uint64_t size) {
    return take_in(item_of(EventKind::PoolAlloc, address, wire::pool_size_field(pool, size)));
  }
  std::optional<std::uint64_t> end(std::uint32_t pool, std::uint64_t address) {
    return take_in(item_of(EventKind::PoolFree, address, wire::pool_size_field(pool, 0)));
  }

  FakeProgram program;
  StackFolder stacks{program.memory.nodes()};
  PoolCollector pools{stacks};
  Event event;
  StackId stack;
  As as = As::Event;
  std::uint64_t number = 0;
};

TEST_F(PoolRecords, PoolsAreNumberedInTheOrderOfTheirFirstUse) {
  EXPECT_EQ(make(700, 0x1000, 48), 0u);
  EXPECT_EQ(event.old_address, 1u);
  EXPECT_EQ(event.size, 48u);
  make(3, 0x1000, 16); // another pool may have the same address
  EXPECT_EQ(event.old_address, 2u);
  EXPECT_EQ(end(700, 0x1000), 1u);
  EXPECT_EQ(event.old_address, 1u);
}

TEST_F(PoolRecords, ANameMayComeAfterTheFirstBlock) {
  make(5, 0x1000, 48);
  EXPECT_EQ(pools.take(), (std::vector<Pool>{{.number = 1}}));
  name(5, "nodes");
  EXPECT_EQ(pools.take(), (std::vector<Pool>{{.number = 1, .name = "nodes"}}));
  EXPECT_TRUE(pools.take().empty());
}

TEST_F(PoolRecords, AFreeFunctionFreesFromWhicheverPoolHasTheBlockTheYoungestFirst) {
  name(1, "given");
  name(2, "xmalloc", wire::PoolNameKind::Function);
  name(3, "inner_malloc", wire::PoolNameKind::Function);
  make(1, 0x1000, 8); // a pool of the program's own is none of its business
  make(3, 0x1000, 8);
  make(2, 0x1000, 8);
  EXPECT_EQ(end(0, 0x1000), 3u);
  EXPECT_EQ(event.old_address, 2u);
  EXPECT_EQ(end(0, 0x1000), 2u);
  EXPECT_EQ(event.old_address, 3u);
  EXPECT_EQ(end(0, 0x1000), 0u);
  EXPECT_EQ(event.old_address, 0u);
}

TEST_F(PoolRecords, OfPoolFunctionsThatCallEachOtherTheInnermostCounts) {
  name(1, "outer", wire::PoolNameKind::Function);
  name(2, "inner", wire::PoolNameKind::Function);
  const StackId calls_outer = stacks.fold(program.node(program.node(0, 0x100), 0x200));
  const StackId calls_inner = stacks.fold(program.node(program.node(program.node(0, 0x100), 0x200), 0x300));
  stack = calls_inner;
  make(2, 0x1000, 8);
  stack = calls_outer;
  EXPECT_FALSE(make(1, 0x1000, 0));
  EXPECT_EQ(as, As::Repeated);
  EXPECT_EQ(end(0, 0x1000), 1u);
  EXPECT_EQ(event.old_address, 2u);
  stack = calls_inner; // the outer one, which frees, calls the inner one
  EXPECT_FALSE(end(0, 0x1000));
  EXPECT_EQ(as, As::Repeated);
}

TEST_F(PoolRecords, ABlockWhoseFreeWasNotSeenIsNoNestedCall) {
  name(1, "one", wire::PoolNameKind::Function);
  name(2, "other", wire::PoolNameKind::Function);
  stack = stacks.fold(program.node(0, 0x100));
  make(1, 0x1000, 8);
  stack = stacks.fold(program.node(0, 0x200));
  EXPECT_EQ(make(2, 0x1000, 8), 0u);
  EXPECT_EQ(event.old_address, 2u);
}

TEST_F(PoolRecords, AResetEndsEverythingInThePool) {
  make(1, 0x1000, 8);
  make(1, 0x2000, 8);
  EXPECT_EQ(end(1, 0), 0u);
  EXPECT_EQ(end(1, 0x2000), 0u); // unknown now
}

TEST_F(PoolRecords, ALargeBlockHasItsSizeInFront) {
  const std::uint64_t size = std::uint64_t{5} << 32 | 7;
  pools.begin_large(item_of(EventKind::PoolBegin, 0x10000, size));
  make(1, 0x2000, 8); // of a signal handler
  EXPECT_EQ(event.size, 8u);
  make(1, 0x10000, size);
  EXPECT_EQ(event.size, size);
  make(1, 0x10000, 9);
  EXPECT_EQ(event.size, 9u);
}

TEST_F(PoolRecords, RecordsThatMakeNoSenseAreRefused) {
  EXPECT_FALSE(make(0, 0x1000, 8));
  EXPECT_FALSE(make(1, 0, 8));
  EXPECT_FALSE(make(wire::kMostPools + 1, 0x1000, 8));
  EXPECT_FALSE(end(0, 0));
  name(wire::kMostPools + 1, "beyond");
  EXPECT_TRUE(pools.take().empty());
}

TEST_F(PoolRecords, NamesOfPoolFunctionsAreNotPools) {
  name(0, "g_free", wire::PoolNameKind::Hooked);
  EXPECT_TRUE(pools.take().empty());
  EXPECT_TRUE(pools.pool_functions().contains("g_free"));
}

} // namespace
} // namespace heaptape
