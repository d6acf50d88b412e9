#include "analysis/heap/block_map.h"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>
#include <vector>

namespace heaptape {
namespace {

constexpr std::uint64_t kHeap = 0x7f12'3456'0000;

TEST(BlockMap, FindsWhatWasInsertedAndForgetsWhatWasTaken) {
  BlockMap map;
  const Block block{kHeap, 100, 7, 8, 9};
  ASSERT_TRUE(map.insert(block));
  EXPECT_EQ(map.find(kHeap), block);
  EXPECT_EQ(map.find(kHeap + 16), std::nullopt);
  EXPECT_EQ(map.find(0), std::nullopt);
  Block taken;
  ASSERT_TRUE(map.take(kHeap, taken));
  EXPECT_EQ(taken, block);
  EXPECT_FALSE(map.take(kHeap, taken));
  EXPECT_EQ(map.size(), 0u);
}

TEST(BlockMap, RefusesASecondBlockAtTheSameAddress) {
  BlockMap map;
  ASSERT_TRUE(map.insert({kHeap, 100, 7, 0, 0}));
  EXPECT_FALSE(map.insert({kHeap, 200, 8, 0, 0}));
  EXPECT_EQ(map.find(kHeap)->size, 100u);
  EXPECT_EQ(map.size(), 1u);
}

TEST(BlockMap, KeepsWhatDoesNotFitAPlace) {
  constexpr std::uint64_t k34 = std::uint64_t{1} << 34, k40 = std::uint64_t{1} << 40;
  const std::vector<Block> odd = {{kHeap, k34 - 2, k40 - 1, k40 - 1, (1u << 28) - 1}, // the largest that fits
                                  {kHeap + 16, k34 - 1, 1, 1, 1},
                                  {kHeap + 32, 1, k40, 1, 1},
                                  {kHeap + 48, 1, 1, k40, 1},
                                  {kHeap + 64, 1, 1, 1, 1u << 28},
                                  {kHeap + 80, ~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}, ~0u},
                                  {0xffff'0000'1234'5678, 64, 9, 9, 9}};
  BlockMap map;
  for (const Block& block : odd) {
    ASSERT_TRUE(map.insert(block));
    EXPECT_FALSE(map.insert({block.address, 1, 1, 1, 1}));
  }
  std::size_t visited = 0;
  map.for_each([&](const Block&) { ++visited; });
  EXPECT_EQ(visited, odd.size());
  for (const Block& block : odd) {
    EXPECT_EQ(map.find(block.address), block);
    Block taken;
    ASSERT_TRUE(map.take(block.address, taken));
    EXPECT_EQ(taken, block);
  }
  EXPECT_EQ(map.size(), 0u);
}

TEST(BlockMap, AgreesWithAnOrdinaryMapOverRandomHistories) {
  std::mt19937_64 random(1);
  BlockMap map;
  std::unordered_map<std::uint64_t, Block> expected;
  std::vector<std::uint64_t> addresses;
  for (int i = 0; i < 400'000; ++i) {
    const bool growing = i / 100'000 % 2 == 0;
    const std::uint64_t address = kHeap + 16 * (random() % 100'000);
    if (random() % 10 < (growing ? 7u : 2u)) {
      const Block block{address, random() % 5000, static_cast<std::uint64_t>(i), random() % 1000,
                        static_cast<std::uint32_t>(random() % 100'000)};
      ASSERT_EQ(map.insert(block), expected.emplace(address, block).second);
    } else {
      Block block;
      const auto found = expected.find(address);
      ASSERT_EQ(map.take(address, block), found != expected.end());
      if (found == expected.end()) continue;
      ASSERT_EQ(block, found->second);
      expected.erase(found);
    }
    ASSERT_EQ(map.size(), expected.size());
  }
  for (const auto& [address, block] : expected) ASSERT_EQ(map.find(address), block);
  std::size_t visited = 0;
  map.for_each([&](const Block& block) {
    ++visited;
    EXPECT_EQ(block, expected.at(block.address));
  });
  EXPECT_EQ(visited, expected.size());
}

TEST(BlockMap, NeedsAtMostFortyFourBytesPerBlockWhileItGrowsAndGivesThemBack) {
  BlockMap map;
  constexpr std::uint64_t kBlocks = 300'000;
  for (std::uint64_t i = 1; i <= kBlocks; ++i) {
    ASSERT_TRUE(map.insert({kHeap + 48 * i, i, i, i, 1}));
    if (i % 1000 == 0 && i > 50'000) {
      EXPECT_LE(map.memory_bytes(), 44 * i);
    }
  }
  const std::size_t full = map.memory_bytes();
  Block block;
  for (std::uint64_t i = 1; i <= kBlocks; ++i) ASSERT_TRUE(map.take(kHeap + 48 * i, block));
  EXPECT_LT(map.memory_bytes(), full / 2);
}

TEST(BlockMap, RoomMadeBeforehandIsUsed) {
  BlockMap map;
  map.reserve(100'000);
  const std::size_t before = map.memory_bytes();
  for (std::uint64_t i = 1; i <= 90'000; ++i) ASSERT_TRUE(map.insert({kHeap + 16 * i, i, i, i, 1}));
  EXPECT_EQ(map.memory_bytes(), before);
  EXPECT_EQ(map.find(kHeap + 16 * 777)->size, 777u);
}

TEST(BlockMap, MovesWithAllItHolds) {
  BlockMap map;
  ASSERT_TRUE(map.insert({kHeap, 1, 2, 3, 4}));
  BlockMap other = std::move(map);
  EXPECT_EQ(other.size(), 1u);
  EXPECT_EQ(other.find(kHeap)->owner, 4u);
  map = BlockMap();
  EXPECT_TRUE(map.insert({kHeap, 9, 9, 9, 9}));
}

} // namespace
} // namespace heaptape
