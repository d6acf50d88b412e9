#include "tape/memory_snapshot.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string_view>

#include "tape/memory_snapshot_codec.h"

namespace heaptape {
namespace {

constexpr PageRun stored(std::uint64_t begin, std::uint64_t end, std::uint64_t first) {
  return {begin, end, PageState::Stored, first};
}

MemorySnapshot example(MapNames& names) {
  MemorySnapshot snapshot;
  snapshot.number = 1;
  snapshot.name = "warm";
  snapshot.event = 77;
  snapshot.time_us = 1'000'000;
  snapshot.method = SnapshotMethod::Live;
  snapshot.pause_us = 1200;
  snapshot.duration_us = 300'000;
  snapshot.auxiliary.resize(32, std::byte{3});
  snapshot.in_flight = {0x5000};
  ThreadState thread{.tid = 4711, .signal = 14};
  for (std::size_t i = 0; i < thread.registers.size(); ++i) thread.registers[i] = ~std::uint64_t{0} - i;
  thread.extended.resize(832, std::byte{9});
  snapshot.threads = {thread, {.tid = 4712, .stopped = false}};
  snapshot.regions = {{0x5000, 0x9000, 0, names.number_of("[heap]"), kMapRead | kMapWrite},
                      {0x10000, 0x20000, 0x3000, names.number_of("/lib/libm.so"), kMapRead}};
  snapshot.runs = {stored(0x5000, 0x7000, 1),
                   {0x7000, 0x8000, PageState::Fill, 0xbdbd},
                   stored(0x8000, 0x9000, 3),
                   {0x10000, 0x20000, PageState::OfFile, 0}};
  snapshot.new_pages = 3;
  return snapshot;
}

TEST(MemorySnapshot, WhatIsWrittenIsReadBack) {
  Snapshots read;
  MapNames names;
  const MemorySnapshot written = example(names);
  SnapshotParser parser;
  for (const auto& payload : encode_snapshot(written, names)) ASSERT_TRUE(parser.add(payload, read));
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0], written);
  EXPECT_EQ(read.names()[read[0].regions[1].name], "/lib/libm.so");
}

TEST(MemorySnapshot, AChangedPageIsADifferenceAndAnUnchangedTableIsNone) {
  const std::vector<PageRun> before = {stored(0x1000, 0x5000, 1)};
  EXPECT_TRUE(page_changes(before, before).empty());
  const std::vector<PageRun> now = {stored(0x1000, 0x2000, 1),
                                    stored(0x2000, 0x3000, 5),
                                    stored(0x3000, 0x5000, 3),
                                    {0x9000, 0xa000, PageState::Zero, 0}};
  const std::vector<PageRun> expected = {stored(0x2000, 0x3000, 5), {0x9000, 0xa000, PageState::Zero, 0}};
  EXPECT_EQ(page_changes(before, now), expected);
  EXPECT_EQ(apply_page_changes(before, expected), now);
}

TEST(MemorySnapshot, WhatWasUnmappedIsGoneFromTheNextTable) {
  const std::vector<PageRun> before = {stored(0x1000, 0x9000, 1)};
  const std::vector<PageRun> now = {stored(0x1000, 0x3000, 1), stored(0x6000, 0x9000, 6)};
  const std::vector<PageRun> changes = page_changes(before, now);
  const std::vector<PageRun> expected = {{0x3000, 0x6000, PageState::None, 0}};
  EXPECT_EQ(changes, expected);
  EXPECT_EQ(apply_page_changes(before, changes), now);
}

TEST(MemorySnapshot, RunsOfPagesThatFollowEachOtherAreJoined) {
  const std::vector<PageRun> runs = {stored(0x1000, 0x2000, 1), stored(0x2000, 0x4000, 2), stored(0x4000, 0x5000, 9)};
  const std::vector<PageRun> expected = {stored(0x1000, 0x4000, 1), stored(0x4000, 0x5000, 9)};
  EXPECT_EQ(apply_page_changes({}, runs), expected);
}

TEST(MemorySnapshot, ADifferenceFromAMissingSnapshotIsLeftOut) {
  Snapshots snapshots;
  MapNames names;
  MemorySnapshot first = example(names), second = first, fourth = first;
  second.number = 2;
  second.whole = false;
  second.runs = {{0x7000, 0x8000, PageState::Zero, 0}};
  fourth.number = 4;
  fourth.whole = false;
  EXPECT_FALSE(snapshots.add(second));
  EXPECT_TRUE(snapshots.add(first));
  EXPECT_TRUE(snapshots.add(second));
  EXPECT_FALSE(snapshots.add(fourth));
  const std::vector<PageRun> pages = snapshots.pages(1);
  ASSERT_EQ(pages.size(), 4u);
  EXPECT_EQ(pages[1], (PageRun{0x7000, 0x8000, PageState::Zero, 0}));
}

TEST(MemorySnapshot, ACutOrSenselessPayloadIsRefused) {
  MapNames names;
  const auto payloads = encode_snapshot(example(names), names);
  ASSERT_EQ(payloads.size(), 1u);
  for (std::size_t size = 0; size < payloads[0].size(); ++size) {
    Snapshots read;
    SnapshotParser parser;
    EXPECT_FALSE(parser.add(std::span(payloads[0]).first(size), read)) << size;
    EXPECT_TRUE(read.empty());
  }
}

TEST(MemorySnapshot, ALargeOneIsSpreadOverPayloadsAndExistsWithTheLast) {
  MapNames names;
  MemorySnapshot large = example(names);
  large.runs.clear();
  for (std::uint64_t i = 0; i < 600'000; ++i)
    large.runs.push_back({i * 2 * kPageBytes, (i * 2 + 1) * kPageBytes, PageState::Stored, i * 3 + 1});
  const auto payloads = encode_snapshot(large, names);
  ASSERT_EQ(payloads.size(), 3u);
  Snapshots read;
  SnapshotParser parser;
  for (const auto& payload : payloads) {
    EXPECT_TRUE(read.empty());
    ASSERT_TRUE(parser.add(payload, read));
  }
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0], large);

  Snapshots without_second;
  SnapshotParser other;
  EXPECT_TRUE(other.add(payloads[0], without_second));
  EXPECT_FALSE(other.add(payloads[2], without_second));
  EXPECT_TRUE(without_second.empty());
}

TEST(MemoryPages, PagesComeBackWhetherTheyPackOrNot) {
  PagePacker packer;
  for (const bool packs : {true, false}) {
    std::vector<std::byte> pages(3 * kPageBytes);
    std::mt19937_64 random(1);
    for (std::uint64_t at = 0; at < pages.size(); at += 8) {
      const std::uint64_t word = packs ? at : random();
      std::memcpy(pages.data() + at, &word, 8);
    }
    std::vector<std::byte> payload;
    put_pages(12, pages, packer, payload);
    EXPECT_EQ(payload.size() < pages.size(), packs);
    const auto head = parse_pages_head(std::span(payload).first(sizeof(PagesHead)), Checksums::Verify);
    ASSERT_TRUE(head);
    EXPECT_EQ(head->first, 12u);
    EXPECT_EQ(head->count, 3u);
    EXPECT_EQ(parse_pages(payload, Checksums::Verify), pages);
    payload.pop_back();
    EXPECT_FALSE(parse_pages(payload, Checksums::Verify));
    payload[0] ^= std::byte{1};
    EXPECT_FALSE(parse_pages_head(payload, Checksums::Verify));
  }
}

// Pages whose words are made by word(its number).
template <class Word>
std::vector<std::byte> pages_with(Word word) {
  std::vector<std::byte> pages(16 * kPageBytes);
  for (std::size_t i = 0; i < pages.size() / 8; ++i) {
    const std::uint64_t made = word(i);
    std::memcpy(pages.data() + i * 8, &made, 8);
  }
  return pages;
}

TEST(MemoryPages, PagesArePackedInTheLayoutThatSuitsThem) {
  std::mt19937_64 random(1);
  constexpr std::string_view kText =
      "Call me Ishmael. Some years ago - never mind how long precisely - having little or no money";
  const auto text = pages_with([&](std::size_t i) {
    std::uint64_t word = 0;
    std::memcpy(&word, kText.data() + i * 8 % (kText.size() - 8), 8);
    return word;
  });
  const auto list =
      pages_with([&](std::size_t i) { return i % 2 == 0 ? 0x5555'0000'0000 + i * 8 + 4096 : random() % 16; });
  const auto table = pages_with([&](std::size_t) { return 0x0102'0304'0000'0000 | (random() % 60'000) << 8; });
  for (const auto& [pages, codec] : {std::pair{&text, PagesCodec::Zstd}, std::pair{&list, PagesCodec::Relative},
                                     std::pair{&table, PagesCodec::Columns}}) {
    PagePacker packer;
    std::vector<std::byte> payload;
    put_pages(1, *pages, packer, payload);
    const auto head = parse_pages_head(payload, Checksums::Verify);
    ASSERT_TRUE(head);
    EXPECT_EQ(static_cast<PagesCodec>(head->codec), codec);
    EXPECT_EQ(parse_pages(payload, Checksums::Verify), *pages);
  }
}

} // namespace
} // namespace heaptape
