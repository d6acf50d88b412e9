#include "analysis/memory/block_ranks.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace heaptape {
namespace {

constexpr std::uint32_t kNone = BlockRanks::kNone;

BlockRanks ranks_of(std::vector<HeapBlock> blocks) { return BlockRanks::of(std::move(blocks)).value(); }

TEST(BlockRanks, FindsABlockByEachOfItsBytesAndByNoOther) {
  const BlockRanks ranks = ranks_of({{0x5000, 100, 7}, {0x4000, 16, 8}, {0x6000, 0, 9}});
  ASSERT_EQ(ranks.size(), 3u);
  EXPECT_EQ(ranks.begin(0), 0x4000u);
  EXPECT_EQ(ranks.group(1), 7u);
  EXPECT_EQ(ranks.find(0x4000), 0u);
  EXPECT_EQ(ranks.find(0x400f), 0u);
  EXPECT_EQ(ranks.find(0x4010), kNone);
  EXPECT_EQ(ranks.find(0x5063), 1u);
  EXPECT_EQ(ranks.find(0x5064), kNone);
  EXPECT_EQ(ranks.find(0x6000), 2u) << "a block of no bytes owns its address";
  EXPECT_EQ(ranks.find(0x6001), kNone);
  EXPECT_EQ(ranks.find(0x3fff), kNone);
  EXPECT_EQ(ranks.find(0), kNone);
  EXPECT_EQ(ranks.find(~std::uint64_t{}), kNone);
  EXPECT_EQ(ranks.first_from(0x4001), 1u);
  EXPECT_EQ(ranks.first_from(0x6001), 3u);
}

TEST(BlockRanks, AgreesWithAMapForBlocksOfAllSizesAndDensities) {
  std::mt19937_64 random(1);
  std::map<std::uint64_t, std::uint64_t> truth; // begin -> size
  std::vector<HeapBlock> blocks;
  std::uint64_t at = 0x10'0000;
  for (int i = 0; i < 60'000; ++i) {
    const std::uint64_t kind = random() % 1000;
    const std::uint64_t size = kind == 0 ? random() % 0x800000 : kind < 50 ? random() % 5000 : random() % 60;
    at += 8 * (random() % 5) + (kind == 1 ? random() % 0x400000 / 8 * 8 : 0);
    truth[at] = size;
    blocks.push_back({at, size, 0});
    at = (at + std::max<std::uint64_t>(size, 8) + 7) / 8 * 8;
  }
  std::shuffle(blocks.begin(), blocks.end(), random);
  const BlockRanks ranks = ranks_of(blocks);
  ASSERT_EQ(ranks.size(), truth.size());
  for (int i = 0; i < 300'000; ++i) {
    std::uint64_t address = 0x0f'0000 + random() % (at - 0x0e'0000);
    if (i % 2 == 0) address = blocks[random() % blocks.size()].address + random() % 64;
    const auto behind = truth.upper_bound(address);
    std::uint64_t expected = 0;
    if (behind != truth.begin()) {
      const auto [begin, size] = *std::prev(behind);
      if (address - begin < size || address == begin) expected = begin;
    }
    const std::uint32_t found = ranks.find(address);
    ASSERT_EQ(found == kNone ? 0 : ranks.begin(found), expected) << std::hex << address;
  }
}

TEST(BlockRanks, KnowsBlocksOfManyGigabytes) {
  const std::uint64_t gib = std::uint64_t{1} << 30;
  const BlockRanks ranks =
      ranks_of({{0x7000'0000'0010, 40 * gib, 0}, {0x1000, 8, 0}, {0x7000'0000'0010 + 41 * gib, 4 * gib, 0}});
  EXPECT_EQ(ranks.bytes(1), 40 * gib);
  EXPECT_EQ(ranks.find(0x7000'0000'0010 + 40 * gib - 1), 1u);
  EXPECT_EQ(ranks.find(0x7000'0000'0010 + 20 * gib), 1u);
  EXPECT_EQ(ranks.find(0x7000'0000'0010 + 40 * gib), kNone);
  EXPECT_EQ(ranks.find(0x7000'0000'0010 + 45 * gib - 1), 2u);
}

TEST(BlockRanks, CutsBlocksThatReachIntoOthers) {
  const BlockRanks ranks = ranks_of({{0x1000, 0x1000, 1}, {0x1800, 0x10, 2}, {0x1800, 0x20, 3}, {0x1804, 2, 4}});
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(ranks.left_out(), 2u);
  EXPECT_EQ(ranks.bytes(0), 0x1000u);
  EXPECT_EQ(ranks.end(0), 0x1800u);
  EXPECT_EQ(ranks.find(0x1400), 0u);
  EXPECT_EQ(ranks.find(0x1808), 1u);
  EXPECT_EQ(ranks.find(0x1900), kNone);
}

TEST(BlockRanks, StaysSmallWhenBlocksLieAnywhereAndHaveAbsurdSizes) {
  std::mt19937_64 random(2);
  std::vector<HeapBlock> blocks{{8, (std::uint64_t{1} << 47) - 8, 0},
                                {(std::uint64_t{1} << 47) - 1, 1, 0},
                                {~std::uint64_t{}, 5, 0},
                                {0x1000, ~std::uint64_t{}, 0},
                                {std::uint64_t{1} << 47, 0, 0}};
  for (int i = 0; i < 5000; ++i) blocks.push_back({random() >> 17, random() >> (random() % 64), 0});
  const BlockRanks ranks = ranks_of(blocks);
  EXPECT_GT(ranks.left_out(), 2u);
  EXPECT_LT(ranks.memory_bytes(), std::size_t{48} << 20);
  for (std::uint32_t i = 0; i < ranks.size(); ++i) {
    ASSERT_EQ(ranks.find(ranks.begin(i)), i);
    if (ranks.end(i) > ranks.begin(i)) {
      ASSERT_EQ(ranks.find(ranks.end(i) - 1), i);
    }
  }
  EXPECT_EQ(ranks_of({}).find(0x1000), kNone);
}

TEST(BlockRanks, TakesLittleMoreThanAddressesAndSizesForSmallBlocks) {
  std::vector<HeapBlock> blocks;
  for (std::uint64_t i = 0; i < 400'000; ++i) blocks.push_back({0x5555'0000'0000 + i * 64, 48, 0});
  const BlockRanks ranks = ranks_of(std::move(blocks));
  EXPECT_LT(static_cast<double>(ranks.memory_bytes()) / ranks.size(), 19.0);
}

} // namespace
} // namespace heaptape
