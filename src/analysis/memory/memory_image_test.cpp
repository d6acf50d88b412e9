#include "analysis/memory/memory_image.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "analysis/memory/pages_for_test.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kPage = kPageBytes;

TEST(MemoryImage, GivesBytesWordsAndTextAcrossPages) {
  PagesForTest pages;
  pages.put_text(0x10ffc, "hello over there");
  pages.put_word(0x13000, 0x1234);
  const MemoryImage image(pages.runs(), pages);
  MemoryCursor cursor(image);
  EXPECT_EQ(cursor.text(0x10ffc, 100), "hello over there");
  EXPECT_EQ(cursor.text(0x10ffc, 7), "hello o");
  EXPECT_EQ(cursor.word(0x13000), 0x1234u);
  EXPECT_EQ(cursor.word(0x13ffc), std::nullopt) << "half of it lies where nothing is known";
  std::array<std::byte, 16> bytes;
  EXPECT_EQ(cursor.read(0x11ff8, bytes), 8u);
  EXPECT_EQ(cursor.read(0x9000, bytes), 0u);
  EXPECT_EQ(cursor.text(0x9000, 10), "");
}

TEST(MemoryImage, KnowsTheStateOfEveryAddress) {
  PagesForTest pages;
  pages.put_word(0x5000, 5);
  std::vector<PageRun> runs = pages.runs();
  runs.push_back({0x6000, 0x8000, PageState::Zero, 0});
  runs.push_back({0x8000, 0x9000, PageState::Fill, 0xcdcdcdcdcdcdcdcd});
  runs.push_back({0x9000, 0xa000, PageState::Refused, 0});
  runs.push_back({0xa000, 0xb000, PageState::LeftOut, 0});
  runs.push_back({0xb000, 0xc000, PageState::Shared, 0});
  runs.push_back({0xc000, 0xd000, PageState::OfFile, 0});
  runs.push_back({0xd000, 0xe000, PageState::Stored, 99});
  const auto file = [](std::uint64_t address, std::span<std::byte> page) {
    page[8] = static_cast<std::byte>(address >> 12);
    return true;
  };
  const MemoryImage image(runs, pages, file);
  MemoryCursor cursor(image);
  const std::array<MemoryState, 10> states{
      MemoryState::Stored,  MemoryState::Zero,   MemoryState::Zero,   MemoryState::Fill,    MemoryState::Refused,
      MemoryState::LeftOut, MemoryState::Shared, MemoryState::OfFile, MemoryState::Damaged, MemoryState::None};
  for (std::size_t i = 0; i < states.size(); ++i) EXPECT_EQ(cursor.state_at(0x5010 + i * kPage), states[i]) << i;
  EXPECT_EQ(cursor.word(0x7ff8), 0u);
  EXPECT_EQ(cursor.word(0x8004), 0xcdcdcdcdcdcdcdcd);
  EXPECT_EQ(cursor.word(0xc008), 0xcu);
  EXPECT_EQ(cursor.word(0xb000), std::nullopt);
}

TEST(MemoryImage, WalksStoredMemoryInOrderAndPassesOverTheRest) {
  PagesForTest pages;
  pages.pages_per_chunk = 2;
  for (std::uint64_t i = 0; i < 5; ++i) pages.put_word(0x10000 + i * kPage, i);
  std::vector<PageRun> runs = pages.runs();
  runs.push_back({0x20000, 0x30000, PageState::Zero, 0});
  runs.push_back({0x30000, 0x4000'0000'0000, PageState::Fill, 7});
  const MemoryImage image(runs, pages);
  MemoryCursor cursor(image);
  std::vector<std::pair<std::uint64_t, std::size_t>> seen;
  cursor.for_each_piece(0x10800, ~std::uint64_t{}, [&](std::uint64_t address, std::span<const std::byte> bytes) {
    seen.emplace_back(address, bytes.size());
  });
  const std::vector<std::pair<std::uint64_t, std::size_t>> expected{
      {0x10800, 0x1800}, {0x12000, 0x2000}, {0x14000, 0x1000}, {0x30000, 0x1000}};
  EXPECT_EQ(seen, expected) << "of endless repetition one page is shown";
}

TEST(MemoryImage, GoesOnBehindADamagedPage) {
  PagesForTest pages;
  for (std::uint64_t i = 0; i < 3; ++i) pages.put_word(0x10000 + i * kPage, i + 1);
  pages.pages_per_chunk = 1;
  pages.damaged = 2;
  const MemoryImage image(pages.runs(), pages);
  MemoryCursor cursor(image);
  EXPECT_EQ(cursor.state_at(0x11000), MemoryState::Damaged);
  std::uint64_t sum = 0;
  cursor.for_each_piece(0, ~std::uint64_t{},
                        [&](std::uint64_t address, std::span<const std::byte>) { sum += address; });
  EXPECT_EQ(sum, 0x10000u + 0x12000u);
  std::vector<std::byte> all(3 * kPage);
  EXPECT_EQ(cursor.read(0x10000, all), kPage);
}

TEST(MemoryImage, UnpacksEachChunkOnceWhile64AreInUse) {
  PagesForTest pages;
  pages.pages_per_chunk = 1;
  for (std::uint64_t i = 0; i < 65; ++i) pages.put_word(0x10000 + i * kPage, i);
  const MemoryImage image(pages.runs(), pages);
  MemoryCursor cursor(image);
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < 64; ++i) ASSERT_EQ(cursor.word(0x10000 + i * kPage), i);
  }
  EXPECT_EQ(pages.unpacked, 64u);
  EXPECT_EQ(cursor.word(0x10000 + 64 * kPage), 64u);
  EXPECT_EQ(cursor.word(0x10000 + 63 * kPage), 63u);
  EXPECT_EQ(pages.unpacked, 65u) << "only the one not used for longest had to go";
}

TEST(MemoryImage, SurvivesTablesThatMakeNoSense) {
  PagesForTest pages;
  pages.put_word(0x1000, 1);
  pages.put_word(0x2000, 2);
  pages.runs();
  const std::uint64_t huge = ~std::uint64_t{} & ~(kPage - 1);
  const std::vector<PageRun> runs{
      {0x2000, 0x3000, PageState::Stored, 2},
      {0x1000, 0x3000, PageState::Stored, 1}, // out of order, overlapping
      {0x4000, 0x4000, PageState::Zero, 0},
      {0x6000, 0x5000, PageState::Zero, 0},
      {0x7001, 0x8000, PageState::Zero, 0},
      {0x8000, huge, PageState::Stored, ~std::uint64_t{} - 3},
      {0x10000, 0x10'0001'0000, PageState::Stored, 3},
      {huge, huge + 0x1000, PageState::Fill, 3},
  };
  const MemoryImage image(runs, pages);
  MemoryCursor cursor(image);
  EXPECT_EQ(cursor.word(0x1000), 1u);
  EXPECT_EQ(cursor.word(0x2000), 2u);
  EXPECT_EQ(cursor.state_at(0x20000), MemoryState::Damaged);
  std::size_t pieces = 0;
  cursor.for_each_piece(0, ~std::uint64_t{}, [&](std::uint64_t, std::span<const std::byte>) { ++pieces; });
  EXPECT_EQ(pieces, 1u);
}

TEST(MemoryImage, IsReadByThreadsWithCursorsOfTheirOwn) {
  PagesForTest pages;
  for (std::uint64_t i = 0; i < 200; ++i) pages.put_word(0x10000 + i * kPage, i);
  const MemoryImage image(pages.runs(), pages);
  std::array<std::uint64_t, 2> sums{};
  const auto add_up = [&](std::uint64_t& sum) {
    MemoryCursor cursor(image);
    for (std::uint64_t i = 0; i < 200; ++i) sum += cursor.word(0x10000 + i * kPage).value_or(0);
  };
  std::thread other([&] { add_up(sums[1]); });
  add_up(sums[0]);
  other.join();
  EXPECT_EQ(sums[0], 199u * 200 / 2);
  EXPECT_EQ(sums[1], sums[0]);
}

} // namespace
} // namespace heaptape
