#include "base/byte_cursor.h"

#include <gtest/gtest.h>

#include <limits>

namespace heaptape {
namespace {

TEST(ByteCursor, ReadsBackWhatWasWritten) {
  std::vector<std::byte> bytes;
  ByteWriter writer(bytes);
  writer.u8(0xfe);
  writer.u16(0x1234);
  writer.u32(0xdeadbeef);
  writer.u64(0x0123456789abcdef);
  writer.text("hello");
  writer.text("");
  ByteReader reader(bytes);
  EXPECT_EQ(reader.u8(), 0xfe);
  EXPECT_EQ(reader.u16(), 0x1234);
  EXPECT_EQ(reader.u32(), 0xdeadbeef);
  EXPECT_EQ(reader.u64(), 0x0123456789abcdefu);
  EXPECT_EQ(reader.text(), "hello");
  EXPECT_EQ(reader.text(), "");
  EXPECT_TRUE(reader.done());
}

TEST(ByteCursor, VarintsKeepEveryNumberAndAreAsShortAsTheyCan) {
  for (unsigned shift = 0; shift < 64; ++shift) {
    for (const std::uint64_t number : {std::uint64_t{1} << shift, (std::uint64_t{1} << shift) - 1}) {
      std::vector<std::byte> bytes;
      ByteWriter(bytes).varint(number);
      EXPECT_EQ(bytes.size(), number == 0 ? 1u : (static_cast<unsigned>(std::bit_width(number)) + 6) / 7);
      ByteReader reader(bytes);
      EXPECT_EQ(reader.varint(), number);
      EXPECT_TRUE(reader.done());
    }
  }
}

TEST(ByteCursor, SignedVarintsKeepEveryNumber) {
  using Limits = std::numeric_limits<std::int64_t>;
  for (const std::int64_t number : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1}, Limits::min(), Limits::max()}) {
    std::vector<std::byte> bytes;
    ByteWriter(bytes).signed_varint(number);
    EXPECT_EQ(ByteReader(bytes).signed_varint(), number);
  }
}

TEST(ByteCursor, AVarintReadsTheSameWhateverStandsBehindIt) {
  for (unsigned bits = 0; bits <= 64; ++bits) {
    for (const std::uint64_t less : {0u, 1u, 2u}) {
      const std::uint64_t number = (bits == 64 ? 0 : std::uint64_t{1} << bits) - less;
      for (const std::byte behind : {std::byte{0}, std::byte{0x7f}, std::byte{0xff}}) {
        std::vector<std::byte> bytes;
        ByteWriter(bytes).varint(number);
        const std::size_t size = bytes.size();
        for (std::size_t more = 0; more < 12; ++more) {
          ByteReader reader(bytes);
          ASSERT_EQ(reader.varint(), number) << more << " bytes behind it";
          ASSERT_EQ(reader.remaining(), bytes.size() - size);
          bytes.push_back(behind);
        }
      }
    }
  }
}

TEST(ByteCursor, AVarintOfMoreThan64BitsFails) {
  std::vector<std::byte> bytes(9, std::byte{0xff});
  bytes.push_back(std::byte{2});
  ByteReader reader(bytes);
  EXPECT_EQ(reader.varint(), 0u);
  EXPECT_FALSE(reader.ok());
}

TEST(ByteCursor, AReaderThatFailedGivesNothingMore) {
  const std::vector<std::byte> bytes(4, std::byte{7});
  ByteReader reader(bytes);
  EXPECT_EQ(reader.u64(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.u8(), 0);
  EXPECT_EQ(reader.remaining(), 0u);
  EXPECT_FALSE(reader.done());
}

TEST(ByteCursor, ALengthBeyondTheEndFails) {
  std::vector<std::byte> bytes;
  ByteWriter(bytes).varint(std::numeric_limits<std::uint64_t>::max());
  ByteReader reader(bytes);
  EXPECT_EQ(reader.text(), "");
  EXPECT_FALSE(reader.ok());
}

} // namespace
} // namespace heaptape
