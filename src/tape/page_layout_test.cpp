#include "tape/page_layout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace heaptape {
namespace {

constexpr PageLayout kLayouts[] = {PageLayout::AsIs, PageLayout::Relative, PageLayout::Columns};

std::vector<std::byte> bytes_of(const std::vector<std::uint64_t>& words) {
  std::vector<std::byte> bytes(words.size() * sizeof(std::uint64_t));
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

std::vector<std::byte> laid_out(PageLayout layout, const std::vector<std::uint64_t>& words) {
  std::vector<std::byte> out(words.size() * sizeof(std::uint64_t));
  lay_out(layout, bytes_of(words), out);
  return out;
}

TEST(PageLayout, WhateverThePagesHoldComesBack) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> words(8 * (1 + random() % 64));
    // Random words, small numbers, and addresses around the places where the upper half begins and ends to count.
    for (std::uint64_t& word : words) {
      constexpr std::uint64_t kUppers[] = {0, 0x0FFF, 0x1000, 0x5555, 0x7FFF, 0x8000, 0xFFFFFFFF};
      word = random() % 2 == 0 ? random() : kUppers[random() % std::size(kUppers)] << 32 | (random() & 0xFFFFFFFF);
    }
    for (const PageLayout layout : kLayouts) {
      std::vector<std::byte> back(words.size() * sizeof(std::uint64_t));
      restore(layout, laid_out(layout, words), back);
      EXPECT_EQ(back, bytes_of(words)) << static_cast<int>(layout);
    }
  }
}

TEST(PageLayout, AddressesOfNeighboursBecomeTheSameDistance) {
  std::vector<std::uint64_t> words(64);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = 0x5555'0000'1000 + i * 8;
  EXPECT_EQ(laid_out(PageLayout::Relative, words), bytes_of(std::vector<std::uint64_t>(64, 0x5555'0000'1000)));
}

TEST(PageLayout, WordsThatAreNoAddressesStay) {
  const std::vector<std::uint64_t> words{1, 2, 3, 0x0FFF'FFFF'FFFF, 0x8000'0000'0000, ~std::uint64_t{0}, 7, 8};
  EXPECT_EQ(laid_out(PageLayout::Relative, words), bytes_of(words));
}

TEST(PageLayout, ColumnsHoldTheFirstBytesOfAllWordsThenTheSecondBytes) {
  std::vector<std::uint64_t> words(16);
  for (std::uint64_t i = 0; i < words.size(); ++i) words[i] = 0x0706050403020100 + i * 0x1000000000000010;
  const std::vector<std::byte> columns = laid_out(PageLayout::Columns, words);
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (std::size_t byte = 0; byte < 8; ++byte)
      EXPECT_EQ(columns[byte * words.size() + i], static_cast<std::byte>(words[i] >> (8 * byte)));
  }
}

} // namespace
} // namespace heaptape
