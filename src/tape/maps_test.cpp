#include "tape/maps.h"

#include <gtest/gtest.h>

#include "base/byte_cursor.h"
#include "tape/maps_codec.h"

namespace heaptape {
namespace {

constexpr std::uint8_t kRw = kMapRead | kMapWrite;

MappedRange range(std::uint64_t begin, std::uint64_t end, std::uint8_t permissions, std::uint32_t name = 0,
                  std::uint64_t offset = 0) {
  return {begin, end, offset, name, permissions};
}

// Three moments of a small program, as the collector would put them on a tape.
struct Three {
  MapNames names;
  std::vector<std::vector<MappedRange>> moments;
  std::vector<MapsChange> changes;

  Three() {
    const std::uint32_t program = names.number_of("/usr/bin/server"), heap = names.number_of("[heap]");
    const MappedRange text = range(0x400000, 0x402000, kMapRead | kMapExecute, program, 0x1000);
    moments = {{text, range(0x500000, 0x521000, kRw, heap)},
               {text, range(0x500000, 0x542000, kRw, heap), range(0x7f0000000000, 0x7f0000400000, kRw)},
               {text, range(0x7f0000000000, 0x7f0000400000, 0), range(0x7f0000400000, 0x7f0000401000, kMapShared)}};
    std::vector<MappedRange> before;
    for (std::size_t i = 0; i < moments.size(); ++i) {
      changes.push_back(maps_change(before, moments[i], 100 * (i + 1)));
      before = moments[i];
    }
    changes.front().whole = true;
  }
};

TEST(Maps, EveryMomentComesBackAsItWas) {
  const Three three;
  std::vector<std::byte> payload;
  put_maps(0, three.changes, three.names, payload);
  Maps maps;
  ASSERT_TRUE(parse_maps(payload, maps));
  ASSERT_EQ(maps.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(maps.ranges(i), three.moments[i]) << i;
  EXPECT_EQ(maps.names()[1], "/usr/bin/server");
  EXPECT_EQ(maps.last_until(99), std::nullopt);
  EXPECT_EQ(maps.last_until(100), 0u);
  EXPECT_EQ(maps.last_until(299), 1u);
  EXPECT_EQ(maps.last_until(5000), 2u);
}

TEST(Maps, AChunkForEachMomentReadsTheSame) {
  const Three three;
  Maps maps;
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<std::byte> payload;
    put_maps(i, std::span(three.changes).subspan(i, 1), three.names, payload);
    ASSERT_TRUE(parse_maps(payload, maps));
  }
  ASSERT_EQ(maps.size(), 3u);
  EXPECT_EQ(maps.ranges(2), three.moments[2]);
}

TEST(Maps, WhatRestsOnALostMomentIsLeftOutUpToTheNextWholeOne) {
  const Three three;
  Maps maps;
  maps.add(0, three.changes[0]);
  maps.add(2, three.changes[2]);
  EXPECT_EQ(maps.size(), 1u);
  MapsChange whole = maps_change({}, three.moments[2], 400);
  whole.whole = true;
  maps.add(3, whole);
  ASSERT_EQ(maps.size(), 2u);
  EXPECT_EQ(maps.ranges(1), three.moments[2]);
}

TEST(Maps, RangesThatOverlapOrAreEmptyAreNeverGivenOut) {
  Maps maps;
  maps.add(0, {.time_us = 1,
               .whole = true,
               .removed = {0x1000},
               .added = {range(0x1000, 0x4000, kRw), range(0x3000, 0x5000, kRw), range(0x9000, 0x9000, kRw)}});
  EXPECT_EQ(maps.ranges(0), (std::vector{range(0x3000, 0x5000, kRw)}));
}

TEST(Maps, APayloadThatIsCutGivesWhatCameBefore) {
  const Three three;
  std::vector<std::byte> payload;
  put_maps(0, three.changes, three.names, payload);
  for (std::size_t size = 0; size < payload.size(); ++size) {
    Maps maps;
    EXPECT_FALSE(parse_maps(std::span(payload).first(size), maps)) << size;
    for (std::size_t i = 0; i < maps.size(); ++i) EXPECT_EQ(maps.ranges(i), three.moments[i]);
  }
}

TEST(Maps, AddressesBeyondAllSenseAreRefused) {
  std::vector<std::byte> entry, payload;
  ByteWriter writer(entry);
  for (const std::uint64_t number : {1ul, 1ul, 0ul, 1ul}) writer.varint(number); // time, whole, none removed, one added
  for (const std::uint64_t number : {(1ul << 52) - 2, 2ul, 3ul, 0ul, 0ul}) writer.varint(number);
  for (const std::uint64_t number : {std::size_t{0}, std::size_t{0}, std::size_t{1}, entry.size()})
    ByteWriter(payload).varint(number);
  ByteWriter(payload).bytes(entry);
  Maps maps;
  EXPECT_FALSE(parse_maps(payload, maps));
  EXPECT_TRUE(maps.empty());
}

TEST(Maps, TheHighestPagesOfAllAreRead) {
  const std::vector<MapsChange> changes{{.time_us = 1,
                                         .whole = true,
                                         .removed = {},
                                         .added = {range(0xffffffffff600000, 0xffffffffff601000, kMapExecute)}}};
  std::vector<std::byte> payload;
  put_maps(0, changes, MapNames(), payload);
  Maps maps;
  ASSERT_TRUE(parse_maps(payload, maps));
  EXPECT_EQ(maps.ranges(0), changes[0].added);
}

} // namespace
} // namespace heaptape
