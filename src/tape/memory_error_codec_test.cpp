#include "tape/memory_error_codec.h"

#include <gtest/gtest.h>

#include "base/byte_cursor.h"
#include "tape/reader.h"
#include "tape/sample_tape.h"

namespace heaptape {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kMost = ~std::uint64_t{0};

MemoryError full_error() {
  return {.sort = ErrorSort::WriteFreed,
          .found = FoundAt::Reuse,
          .expected = 0xbd,
          .event = kMost,
          .time_us = 12,
          .thread = ThreadId(2),
          .stack = StackId(3),
          .address = 0x7f00'1234'5678,
          .length = kMost,
          .block = 0x7f00'1234'5670,
          .block_size = 40,
          .given = 64,
          .whole_us = 11,
          .bytes = std::string(wire::kErrorBytes, '\0'),
          .function = std::string(wire::kErrorFunctionBytes, 'f')};
}

Bytes payload_of(const MemoryErrors& errors) {
  Bytes payload;
  put_memory_errors(errors, payload);
  return payload;
}

TEST(MemoryErrorCodec, KeepsErrorsInParts) {
  const MemoryError small{.sort = ErrorSort::WriteBefore, .bytes = "x"};
  MemoryErrors read;
  for (const MemoryErrors& part : {MemoryErrors{"check", {small}, 0}, MemoryErrors{"check", {full_error()}, 5}})
    ASSERT_TRUE(parse_memory_errors(payload_of(part), read));
  EXPECT_EQ(read, (MemoryErrors{"check", {small, full_error()}, 5}));
}

TEST(MemoryErrorCodec, AProgramWithoutErrorsWasChecked) {
  MemoryErrors read;
  ASSERT_TRUE(parse_memory_errors(payload_of({.mode = "full"}), read));
  EXPECT_EQ(read, MemoryErrors{.mode = "full"});
}

TEST(MemoryErrorCodec, CutAnywhereItMakesNoSense) {
  const Bytes payload = payload_of({"check", {full_error(), full_error()}, 0});
  for (std::size_t size = 0; size < payload.size(); ++size) {
    MemoryErrors read;
    EXPECT_FALSE(parse_memory_errors(std::span(payload).first(size), read)) << size;
  }
}

TEST(MemoryErrorCodec, WhatLaterVersionsAddIsIgnored) {
  Bytes payload;
  const Bytes known = payload_of({"check", {full_error()}, 0});
  // The mode, the two numbers and the size of the entry are before it.
  const std::size_t head = 1 + 5 + 1 + 1;
  ByteReader size(std::span<const std::byte>(known).subspan(head));
  const std::uint64_t entry_bytes = size.varint();
  const std::span<const std::byte> rest = size.rest();
  ASSERT_EQ(rest.size(), entry_bytes);
  payload.assign(known.begin(), known.begin() + head);
  ByteWriter writer(payload);
  writer.varint(entry_bytes + 2);
  writer.bytes(rest);
  writer.u16(0xffff);
  writer.text("and behind the list");
  MemoryErrors read;
  ASSERT_TRUE(parse_memory_errors(payload, read));
  EXPECT_EQ(read, (MemoryErrors{"check", {full_error()}, 0}));
}

TEST(MemoryErrorCodec, WhatIsLongerThanItMayBeIsCut) {
  MemoryError error = full_error();
  error.bytes += "more";
  error.function += "more";
  MemoryErrors read;
  ASSERT_TRUE(parse_memory_errors(payload_of({"check", {error}, 0}), read));
  EXPECT_EQ(read.errors, std::vector<MemoryError>{full_error()});
}

TEST(MemoryErrorCodec, SortsOfLaterVersionsStayUnknown) {
  Bytes payload;
  ByteWriter writer(payload);
  writer.text("check");
  writer.varint(0);
  writer.varint(1);
  Bytes entry;
  ByteWriter fields(entry);
  fields.varint(0x1'0000'0001); // cut to a byte it would be a sort that is known
  fields.varint(0x101);
  for (int field = 2; field < 15; ++field) fields.varint(0);
  writer.varint(entry.size());
  writer.bytes(entry);
  MemoryErrors read;
  ASSERT_TRUE(parse_memory_errors(payload, read));
  ASSERT_EQ(read.errors.size(), 1u);
  EXPECT_GE(static_cast<std::uint8_t>(read.errors[0].sort), kErrorSorts);
  EXPECT_GE(static_cast<std::uint8_t>(read.errors[0].found), kFoundAts);
}

TEST(MemoryErrorCodec, ATapeHoldsOnlySoMany) {
  const std::size_t part = kMostMemoryErrors / 4;
  const Bytes payload = payload_of({"check", std::vector<MemoryError>(part), 0});
  MemoryErrors read;
  for (std::size_t i = 0; i < 4; ++i) ASSERT_TRUE(parse_memory_errors(payload, read));
  EXPECT_FALSE(parse_memory_errors(payload, read));
  EXPECT_EQ(read.errors.size(), kMostMemoryErrors);
}

TEST(MemoryErrorCodec, StacksThatAreNotOnTheTapeReadAsNone) {
  SampleTape sample(10);
  sample.errors.errors[0].stack = StackId(41);
  const Bytes bytes = sample.bytes();
  const Result<TapeReader> reader = TapeReader::from_bytes(bytes, "sample");
  ASSERT_TRUE(reader.ok());
  const std::vector<MemoryError>& errors = reader.value().memory_errors().errors;
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].stack, StackId(0));
  EXPECT_EQ(errors[1].stack, StackId(4));
}

} // namespace
} // namespace heaptape
