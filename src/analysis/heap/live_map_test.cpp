#include "analysis/heap/live_map.h"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>
#include <vector>

namespace heaptape {
namespace {

constexpr std::uint64_t kHeap = 0x7f12'3456'0000;

TEST(LiveMap, FindsWhatWasInsertedAndForgetsWhatWasTaken) {
  LiveMap map;
  ASSERT_TRUE(map.insert(kHeap, {100, 7}));
  LiveBlock block;
  EXPECT_EQ(map.find(kHeap), (LiveBlock{100, 7}));
  EXPECT_EQ(map.find(kHeap + 16), std::nullopt);
  ASSERT_TRUE(map.take(kHeap, block));
  EXPECT_EQ(block, (LiveBlock{100, 7}));
  EXPECT_FALSE(map.take(kHeap, block));
  EXPECT_EQ(map.size(), 0u);
}

TEST(LiveMap, RefusesASecondBlockAtTheSameAddress) {
  LiveMap map;
  ASSERT_TRUE(map.insert(kHeap, {100, 7}));
  EXPECT_FALSE(map.insert(kHeap, {200, 8}));
  EXPECT_EQ(map.find(kHeap)->size, 100u);
  EXPECT_EQ(map.size(), 1u);
}

TEST(LiveMap, KeepsSizesAndNumbersThatDoNotFitAnEntry) {
  LiveMap map;
  const std::vector<LiveBlock> odd = {{std::uint64_t{1} << 47, 1},
                                      {(std::uint64_t{1} << 34) - 2, 2}, // the largest that fits
                                      {(std::uint64_t{1} << 34) - 1, 3}, // the first that does not
                                      {10, std::uint64_t{1} << 50},
                                      {0, 5}};
  for (std::size_t i = 0; i < odd.size(); ++i) {
    ASSERT_TRUE(map.insert(kHeap + i * 16, odd[i]));
    EXPECT_FALSE(map.insert(kHeap + i * 16, {1, 1}));
  }
  const std::uint64_t high = 0xffff'0000'1234'5678; // beyond 48 bits
  ASSERT_TRUE(map.insert(high, {64, 9}));
  EXPECT_FALSE(map.insert(high, {64, 9}));
  EXPECT_EQ(map.size(), odd.size() + 1);
  std::size_t visited = 0;
  map.for_each([&](std::uint64_t, const LiveBlock&) { ++visited; });
  EXPECT_EQ(visited, odd.size() + 1);
  LiveBlock block;
  for (std::size_t i = 0; i < odd.size(); ++i) {
    EXPECT_EQ(map.find(kHeap + i * 16), odd[i]);
    ASSERT_TRUE(map.take(kHeap + i * 16, block));
    EXPECT_EQ(block, odd[i]);
  }
  ASSERT_TRUE(map.take(high, block));
  EXPECT_EQ(map.size(), 0u);
}

TEST(LiveMap, AgreesWithAReferenceOverRandomHistories) {
  std::mt19937_64 random(1);
  LiveMap map;
  std::unordered_map<std::uint64_t, LiveBlock> reference;
  for (int phase = 0; phase < 6; ++phase) {
    const bool grow = phase % 2 == 0; // up and down again, so that shards grow and shrink
    for (std::uint64_t i = 0; i < 60'000; ++i) {
      const std::uint64_t address = kHeap + random() % 50'000 * 16;
      const bool insert = random() % 10 < (grow ? 8u : 1u);
      LiveBlock block{random() % 5000, i + 1};
      if (insert) {
        EXPECT_EQ(map.insert(address, block), reference.emplace(address, block).second);
      } else {
        const auto known = reference.find(address);
        ASSERT_EQ(map.take(address, block), known != reference.end());
        if (known == reference.end()) continue;
        EXPECT_EQ(block, known->second);
        reference.erase(known);
      }
    }
    ASSERT_EQ(map.size(), reference.size());
    std::size_t visited = 0;
    map.for_each([&](std::uint64_t address, const LiveBlock& block) {
      ++visited;
      ASSERT_TRUE(reference.contains(address));
      EXPECT_EQ(reference[address], block);
    });
    EXPECT_EQ(visited, reference.size());
  }
}

TEST(LiveMap, NeverNeedsMoreThan32BytesPerLiveBlockWhileItGrows) {
  LiveMap map;
  for (std::uint64_t i = 1; i <= 3'000'000; ++i) {
    ASSERT_TRUE(map.insert(kHeap + i * 48, {48, i}));
    ASSERT_LE(map.memory_bytes(), 32 * i + (33 << 20)) << "at " << i << " blocks";
  }
}

TEST(LiveMap, ShrinksAgainWhenMostBlocksAreGone) {
  LiveMap map;
  for (std::uint64_t i = 1; i <= 4'000'000; ++i) ASSERT_TRUE(map.insert(kHeap + i * 32, {32, i}));
  LiveBlock block;
  for (std::uint64_t i = 1; i <= 3'999'000; ++i) ASSERT_TRUE(map.take(kHeap + i * 32, block));
  EXPECT_LE(map.memory_bytes(), 33u << 20);
  for (std::uint64_t i = 3'999'001; i <= 4'000'000; ++i) {
    ASSERT_TRUE(map.find(kHeap + i * 32));
    EXPECT_EQ(map.find(kHeap + i * 32)->allocated_at, i);
  }
}

TEST(LiveMap, MovedFromMapIsEmptyAndUsable) {
  LiveMap map;
  ASSERT_TRUE(map.insert(kHeap, {1, 1}));
  LiveMap other = std::move(map);
  EXPECT_EQ(other.size(), 1u);
  map = LiveMap();
  EXPECT_TRUE(map.insert(kHeap, {2, 2}));
}

} // namespace
} // namespace heaptape
