#include "tape/tape_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tape/reader.h"
#include "tape/sample_tape.h"

namespace heaptape {
namespace {

using Bytes = std::vector<std::byte>;
using With = SampleTape::With;

struct Copied {
  Bytes bytes;
  TapeCopy facts;
};

Copied copy_of(const Bytes& tape, bool with_contents) {
  Copied copied;
  const Result<TapeCopy> made = copy_tape(TapeSource::from_bytes(tape), "sample", with_contents,
                                          [&](std::span<const std::byte> part) -> Result<> {
                                            copied.bytes.insert(copied.bytes.end(), part.begin(), part.end());
                                            return Unit{};
                                          });
  HT_CHECK(made.ok());
  copied.facts = made.value();
  return copied;
}

TapeReader read(const Bytes& bytes) {
  auto tape = TapeReader::from_bytes(bytes, "sample");
  HT_CHECK(tape.ok());
  return std::move(tape).value();
}

bool holds(const Bytes& bytes, std::span<const std::byte> what) {
  return std::search(bytes.begin(), bytes.end(), what.begin(), what.end()) != bytes.end();
}

TEST(TapeCopy, OfATapeWithoutAnIndexEveryByteIsTheSame) {
  const Bytes tape = SampleTape(500).bytes(100, With::Memory);
  EXPECT_EQ(copy_of(tape, true).bytes, tape);
}

TEST(TapeCopy, WithoutContentsNothingButMemoryIsMissing) {
  const SampleTape sample(500);
  const Bytes tape = sample.bytes(100, With::Memory);
  const Copied copied = copy_of(tape, false);
  const TapeReader before = read(tape), after = read(copied.bytes);
  ASSERT_EQ(before.snapshots().size(), 1u);
  EXPECT_TRUE(after.snapshots().empty());
  EXPECT_TRUE(after.pages_chunks().empty());
  EXPECT_TRUE(after.damage().empty());
  EXPECT_EQ(copied.bytes, sample.bytes(100, With::Events));
  EXPECT_EQ(copied.facts.contents_bytes, tape.size() - copied.bytes.size());
}

TEST(TapeCopy, OfWhatIsDamagedNothingIsCopiedThatMayBeMemory) {
  Bytes tape = SampleTape(500).bytes(100, With::Memory);
  const TapeReader whole = read(tape);
  const PagesChunk pages = whole.pages_chunks().front();
  const auto at = static_cast<std::ptrdiff_t>(pages.offset);
  const Bytes payload(tape.begin() + at + sizeof(format::ChunkHeader),
                      tape.begin() + at + static_cast<std::ptrdiff_t>(pages.bytes));
  tape[pages.offset + 8] ^= std::byte{0xff}; // its type
  const Copied copied = copy_of(tape, false);
  EXPECT_FALSE(holds(copied.bytes, payload));
  EXPECT_EQ(copied.facts.damaged_regions, 1u);
  EXPECT_EQ(read(copied.bytes).event_count(), 500u);
}

TEST(TapeCopy, WhatOnlyALaterVersionKnowsMayBeMemory) {
  Bytes tape = SampleTape(50).bytes(100, With::Memory);
  const PagesChunk pages = read(tape).pages_chunks().front();
  format::ChunkHeader header;
  std::memcpy(&header, tape.data() + pages.offset, sizeof header);
  header.type = 99;
  header.header_checksum = format::chunk_header_checksum(header);
  std::memcpy(tape.data() + pages.offset, &header, sizeof header);
  const Copied copied = copy_of(tape, false);
  EXPECT_EQ(copied.facts.unknown_chunks, 1u);
  EXPECT_EQ(read(copied.bytes).unknown_chunks(), 0u);
  EXPECT_EQ(copy_of(tape, true).bytes, tape);
}

TEST(TapeCopy, AnErrorOfTheReceiverEndsIt) {
  const Bytes tape = SampleTape(500).bytes(10);
  int calls = 0;
  const Result<TapeCopy> made =
      copy_tape(TapeSource::from_bytes(tape), "sample", true, [&](std::span<const std::byte>) -> Result<> {
        if (++calls == 3) return Error{ErrorCode::Io, "full"};
        return Unit{};
      });
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().sentence, "full");
  EXPECT_EQ(calls, 3);
}

} // namespace
} // namespace heaptape
