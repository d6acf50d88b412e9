#include "collector/contents/page_store.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "collector/contents/page_table.h"
#include "tape/memory_snapshot_codec.h"

namespace heaptape {
namespace {

std::vector<std::byte> page_of(std::uint64_t seed) {
  std::vector<std::byte> page(kPageBytes);
  for (std::size_t at = 0; at < page.size(); at += 8) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    std::memcpy(page.data() + at, &seed, 8);
  }
  return page;
}

struct Written {
  std::map<std::uint64_t, std::vector<std::byte>> pages; // by number
  bool refuses = false;

  PageStore::Write writer() {
    return [this](const std::vector<std::byte>& payload) {
      if (refuses) return false;
      const auto head = parse_pages_head(payload, Checksums::Verify);
      const auto bytes = parse_pages(payload, Checksums::Verify);
      for (std::uint64_t i = 0; head && bytes && i < head->count; ++i) {
        const auto at = bytes->begin() + static_cast<std::ptrdiff_t>(i * kPageBytes);
        pages[head->first + i].assign(at, at + static_cast<std::ptrdiff_t>(kPageBytes));
      }
      return true;
    };
  }
};

TEST(PageStore, APageIsWrittenOnceAndNamedAgain) {
  Written written;
  PageStore store(written.writer());
  for (std::uint64_t i = 1; i <= 100; ++i) EXPECT_EQ(store.add(page_of(i)).value, i);
  for (std::uint64_t i = 1; i <= 100; ++i) EXPECT_EQ(store.add(page_of(i)).value, i);
  store.flush();
  ASSERT_EQ(written.pages.size(), 100u);
  for (std::uint64_t i = 1; i <= 100; ++i) EXPECT_EQ(written.pages[i], page_of(i)) << i;
}

TEST(PageStore, ZerosAndRepeatedWordsTakeNoRoom) {
  Written written;
  PageStore store(written.writer());
  std::vector<std::byte> page(kPageBytes);
  EXPECT_EQ(store.add(page).state, PageState::Zero);
  std::fill(page.begin(), page.end(), std::byte{0xbd});
  const PageStore::Stored filled = store.add(page);
  EXPECT_EQ(filled.state, PageState::Fill);
  EXPECT_EQ(filled.value, 0xbdbdbdbdbdbdbdbd);
  page.back() = std::byte{1};
  EXPECT_EQ(store.add(page).state, PageState::Stored);
  store.flush();
  EXPECT_EQ(written.pages.size(), 1u);
}

TEST(PageStore, WhatTheTapeRefusedIsNotReferredToLater) {
  Written written;
  PageStore store(written.writer());
  written.refuses = true;
  EXPECT_EQ(store.add(page_of(1)).value, 1u);
  store.flush();
  EXPECT_TRUE(store.failed());
  written.refuses = false;
  store.forget();
  EXPECT_EQ(store.add(page_of(1)).value, 2u);
  store.flush();
  EXPECT_FALSE(store.failed());
  EXPECT_EQ(written.pages[2], page_of(1));
}

TEST(PageTable, RunsAreJoinedAndGapsGetTheStateOfTheirMapping) {
  PageTable table;
  table.set(0x1000, PageState::Stored, 7);
  table.set(0x2000, PageState::Stored, 8);
  table.set(0x3000, PageState::Stored, 3);
  table.set(0x400000, PageState::Fill, 0xab);
  std::vector<PageRun> runs;
  table.append_runs(0, 0x500000, PageState::Zero, runs);
  const std::vector<PageRun> expected = {{0, 0x1000, PageState::Zero, 0},
                                         {0x1000, 0x3000, PageState::Stored, 7},
                                         {0x3000, 0x4000, PageState::Stored, 3},
                                         {0x4000, 0x400000, PageState::Zero, 0},
                                         {0x400000, 0x401000, PageState::Fill, 0xab},
                                         {0x401000, 0x500000, PageState::Zero, 0}};
  EXPECT_EQ(runs, expected);
}

TEST(PageTable, WhatIsClearedIsGoneAndNothingElse) {
  PageTable table;
  for (std::uint64_t page = 0x1ff000; page < 0x602000; page += kPageBytes) table.set(page, PageState::Refused);
  table.clear(0x200000, 0x601000);
  std::vector<PageRun> runs;
  table.append_runs(0, 0x1000000, PageState::None, runs);
  const std::vector<PageRun> expected = {{0x1ff000, 0x200000, PageState::Refused, 0},
                                         {0x601000, 0x602000, PageState::Refused, 0}};
  EXPECT_EQ(runs, expected);
}

} // namespace
} // namespace heaptape
