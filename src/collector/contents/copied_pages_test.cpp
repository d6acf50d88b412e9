#include "collector/contents/copied_pages.h"

#include <gtest/gtest.h>

#include <map>

namespace heaptape {
namespace {

constexpr std::uint64_t kBase = 0x7f0000000000;

std::vector<std::byte> page_of(int value) { return std::vector<std::byte>(kPageBytes, static_cast<std::byte>(value)); }

std::map<std::uint64_t, int> contents(const CopiedPages& pages) {
  std::map<std::uint64_t, int> found;
  pages.for_each([&](std::uint64_t address, std::span<const std::byte> page) {
    EXPECT_EQ(page.front(), page.back());
    found[(address - kBase) / kPageBytes] = static_cast<int>(page.front());
  });
  return found;
}

class CopiedPagesTest : public testing::Test {
protected:
  bool add(std::uint64_t page, int value) { return pages.add(kBase + page * kPageBytes, page_of(value)); }
  void forget(std::uint64_t begin, std::uint64_t end) {
    pages.forget(kBase + begin * kPageBytes, kBase + end * kPageBytes);
  }

  CopiedPages pages;
};

TEST_F(CopiedPagesTest, KeepsTheLastCopyOfEachPage) {
  pages.set_most_bytes(3 * kPageBytes);
  EXPECT_TRUE(add(0, 1));
  EXPECT_TRUE(add(700, 2));
  EXPECT_TRUE(add(0, 3));
  EXPECT_EQ(contents(pages), (std::map<std::uint64_t, int>{{0, 3}, {700, 2}}));
}

TEST_F(CopiedPagesTest, HasRoomForSoManyPages) {
  pages.set_most_bytes(2 * kPageBytes);
  EXPECT_TRUE(add(0, 1));
  EXPECT_TRUE(add(1, 2));
  EXPECT_FALSE(add(2, 3));
  EXPECT_TRUE(add(1, 4)) << "it is here already";
  EXPECT_EQ(contents(pages), (std::map<std::uint64_t, int>{{0, 1}, {1, 4}}));
}

TEST_F(CopiedPagesTest, GivesTheRoomOfForgottenPagesToOthers) {
  pages.set_most_bytes(1000 * kPageBytes);
  for (int page = 0; page < 1000; ++page) ASSERT_TRUE(add(static_cast<std::uint64_t>(page), page % 100));
  EXPECT_FALSE(add(5000, 1));
  forget(1, 999);
  EXPECT_EQ(contents(pages), (std::map<std::uint64_t, int>{{0, 0}, {999, 99}}));
  for (std::uint64_t page = 5000; page < 5998; ++page) ASSERT_TRUE(add(page, 7));
  EXPECT_FALSE(add(6000, 1));
  EXPECT_EQ(contents(pages).size(), 1000U);
}

TEST_F(CopiedPagesTest, IsEmptyWhenCleared) {
  pages.set_most_bytes(kPageBytes);
  EXPECT_TRUE(add(0, 1));
  pages.clear();
  EXPECT_TRUE(contents(pages).empty());
  EXPECT_TRUE(add(9, 2));
  EXPECT_EQ(contents(pages), (std::map<std::uint64_t, int>{{9, 2}}));
}

} // namespace
} // namespace heaptape
