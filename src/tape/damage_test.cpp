// What a reader makes of tapes that were damaged in other ways than by one flipped bit or one cut.
#include <gtest/gtest.h>

#include <cstring>

#include "tape/chunk_scanner.h"
#include "tape/event_chunk.h"
#include "tape/format.h"
#include "tape/reader.h"
#include "tape/sample_tape.h"

namespace heaptape {
namespace {

using Bytes = std::vector<std::byte>;

std::vector<FoundChunk> blocks_of(const Bytes& bytes) {
  const TapeSource source = TapeSource::from_bytes(bytes);
  ChunkScanner scanner(source, sizeof(format::FileHeader), Checksums::Verify);
  std::vector<FoundChunk> chunks;
  while (const auto chunk = scanner.next()) chunks.push_back(*chunk);
  return chunks;
}

FoundChunk chunk_of_type(const Bytes& bytes, format::ChunkType type) {
  for (const FoundChunk& chunk : blocks_of(bytes))
    if (chunk.header.type == static_cast<std::uint8_t>(type)) return chunk;
  HT_CHECK(false);
}

TapeReader read(const Bytes& bytes) {
  Result<TapeReader> reader = TapeReader::from_bytes(bytes, "damaged.tape");
  HT_CHECK(reader.ok());
  return std::move(reader).value();
}

std::size_t count_events(const TapeReader& reader) {
  std::size_t count = 0;
  for (EventCursor cursor = reader.events(); cursor.next() != nullptr;) ++count;
  return count;
}

auto at(Bytes& bytes, std::uint64_t offset) { return bytes.begin() + static_cast<std::ptrdiff_t>(offset); }

TEST(Damage, BytesBetweenChunksAreSkippedAndCounted) {
  Bytes bytes = SampleTape(100).bytes(25);
  const FoundChunk chunk = chunk_of_type(bytes, format::ChunkType::Events);
  bytes.insert(at(bytes, chunk.offset), 1000, std::byte{0xf1});
  const TapeReader reader = read(bytes);
  EXPECT_EQ(count_events(reader), 100u);
  ASSERT_EQ(reader.damage().size(), 1u);
  EXPECT_EQ(reader.damage()[0].offset, chunk.offset);
  EXPECT_EQ(reader.damage()[0].bytes, 1000u);
}

TEST(Damage, APieceMissingInsideAChunkCostsOnlyThatChunk) {
  Bytes bytes = SampleTape(100).bytes(25);
  const FoundChunk chunk = chunk_of_type(bytes, format::ChunkType::Events);
  bytes.erase(at(bytes, chunk.payload_offset() + 150), at(bytes, chunk.payload_offset() + 160));
  const TapeReader reader = read(bytes);
  EXPECT_EQ(count_events(reader), 75u);
  ASSERT_EQ(reader.damage().size(), 1u);
  EXPECT_EQ(reader.damage()[0].reason, "checksum differs");
  EXPECT_TRUE(reader.summary().has_value());
}

TEST(Damage, AGoodChunkBeforeADamagedHeaderIsKept) {
  Bytes bytes = SampleTape(50).bytes(25);
  const auto chunks = blocks_of(bytes);
  for (std::size_t i = 1; i < chunks.size(); ++i) {
    Bytes wrong = bytes;
    wrong[chunks[i].offset] ^= std::byte{1};
    EXPECT_EQ(blocks_of(wrong).size(), chunks.size() - 1) << i;
  }
}

TEST(Damage, TheEndOfATapeThatWasCutIsCalledCutOff) {
  const Bytes bytes = SampleTape(50).bytes(25);
  const auto chunks = blocks_of(bytes);
  const FoundChunk& last = chunks.back();
  for (std::uint64_t size = last.offset + 1; size < last.end(); ++size) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    const TapeReader reader = read(cut);
    ASSERT_EQ(reader.damage().size(), 1u) << size;
    EXPECT_EQ(reader.damage()[0].reason, "cut off") << size;
    EXPECT_EQ(reader.damage()[0].offset, last.offset) << size;
    EXPECT_EQ(reader.damage()[0].bytes, size - last.offset) << size;
    EXPECT_FALSE(reader.summary().has_value());
  }
}

TEST(Damage, ATailOfZerosAsAPowerCutLeavesItIsSkipped) {
  Bytes bytes = SampleTape(50).bytes(25);
  const std::size_t size = bytes.size();
  bytes.resize(size + 100'000);
  const TapeReader reader = read(bytes);
  EXPECT_EQ(count_events(reader), 50u);
  ASSERT_EQ(reader.damage().size(), 1u);
  EXPECT_EQ(reader.damage()[0].offset, size);
  EXPECT_EQ(reader.damage()[0].bytes, 100'000u);
}

TEST(Damage, StacksThatWereLostReadAsNone) {
  Bytes bytes = SampleTape(200).bytes();
  bytes[chunk_of_type(bytes, format::ChunkType::Stacks).payload_offset()] ^= std::byte{1};
  const TapeReader reader = read(bytes);
  EXPECT_EQ(reader.stacks().size(), 1u);
  EventCursor cursor = reader.events();
  std::uint64_t events = 0;
  while (const Event* event = cursor.next()) {
    EXPECT_EQ(event->stack.value, 0u);
    ++events;
  }
  EXPECT_EQ(events, 200u);
  EXPECT_GT(cursor.unknown_stacks(), 100u);
}

TEST(Damage, ACursorSaysWhichChunkOfEventsItSkipped) {
  Bytes bytes = SampleTape(100).bytes(25);
  const FoundChunk chunk = chunk_of_type(bytes, format::ChunkType::Events);
  bytes[chunk.end() - 1] ^= std::byte{1};
  const TapeReader reader = read(bytes);
  EXPECT_TRUE(reader.damage().empty()); // payloads of events are not read when a tape is opened
  EXPECT_EQ(reader.event_count(), 100u);
  EventCursor cursor = reader.events();
  const Event* first = cursor.next();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->number, 26u);
  EXPECT_EQ(cursor.skipped_chunks(), 1u);
  ASSERT_EQ(cursor.damage().size(), 1u);
  EXPECT_EQ(cursor.damage()[0].offset, chunk.offset);
  EXPECT_EQ(cursor.damage()[0].bytes, chunk.end() - chunk.offset);
}

// Changes a chunk and makes its checksums right again, as a buggy or hostile writer would.
template <class Change>
void rewrite(Bytes& bytes, FoundChunk chunk, Change change) {
  const auto payload = std::span(bytes).subspan(chunk.payload_offset(), chunk.header.stored_bytes);
  change(chunk.header, payload);
  chunk.header.payload_checksum = format::checksum(payload);
  chunk.header.header_checksum = format::chunk_header_checksum(chunk.header);
  std::memcpy(bytes.data() + chunk.offset, &chunk.header, sizeof chunk.header);
}

TEST(Damage, AHeadOfEventsThatMakesNoSenseCostsItsChunk) {
  using Head = format::EventChunkHead;
  using ChangeHead = void (*)(Head&);
  const ChangeHead changes[] = {[](Head& head) { head.count = 0; },
                                [](Head& head) { head.count = 26; },
                                [](Head& head) { head.count = ~0u; },
                                [](Head& head) { head.first_number = 0; },
                                [](Head& head) { head.first_number = 1; },
                                [](Head& head) { head.first_number = ~std::uint64_t{0}; },
                                [](Head& head) { head.first_us = head.last_us + 1; },
                                [](Head& head) { head.first_us = 0; },
                                [](Head& head) { head.columns[0].stored_bytes = ~0u; },
                                [](Head& head) { head.columns[3].raw_bytes = ~0u; }};
  const Bytes bytes = SampleTape(100).bytes(25);
  const auto chunks = blocks_of(bytes);
  std::vector<FoundChunk> events;
  for (const FoundChunk& chunk : chunks)
    if (chunk.header.type == static_cast<std::uint8_t>(format::ChunkType::Events)) events.push_back(chunk);
  for (const ChangeHead change : changes) {
    Bytes wrong = bytes;
    rewrite(wrong, events[1], [&](format::ChunkHeader&, std::span<std::byte> payload) {
      Head head;
      std::memcpy(&head, payload.data(), sizeof head);
      change(head);
      head.checksum = format::event_chunk_head_checksum(head);
      std::memcpy(payload.data(), &head, sizeof head);
    });
    const TapeReader reader = read(wrong);
    EXPECT_EQ(count_events(reader), 75u) << "change " << &change - changes;
    EXPECT_EQ(reader.damage().size(), 1u) << "change " << &change - changes;
  }
}

TEST(Damage, AChunkThatClaimsToUnpackToTooMuchIsRefused) {
  SampleTape sample(100);
  sample.meta["options"] = std::string(500, 'x');
  const Bytes bytes = sample.bytes();
  const FoundChunk meta = chunk_of_type(bytes, format::ChunkType::Meta);
  ASSERT_EQ(meta.header.codec, static_cast<std::uint8_t>(format::Codec::Zstd));
  for (const std::uint32_t raw : {meta.header.raw_bytes + 1, meta.header.stored_bytes * 33, 0u}) {
    Bytes wrong = bytes;
    rewrite(wrong, meta, [&](format::ChunkHeader& header, auto) { header.raw_bytes = raw; });
    const TapeReader reader = read(wrong);
    ASSERT_EQ(reader.damage().size(), 1u) << raw;
    EXPECT_EQ(reader.damage()[0].reason, "META chunk makes no sense");
    EXPECT_TRUE(reader.meta().empty());
  }
}

TEST(Damage, AChunkWithUnknownFlagsOrCodecIsSkippedAndCounted) {
  const Bytes bytes = SampleTape(100).bytes();
  for (const bool flags : {true, false}) {
    Bytes newer = bytes;
    rewrite(newer, chunk_of_type(bytes, format::ChunkType::Samples), [&](format::ChunkHeader& header, auto) {
      if (flags)
        header.flags = 4;
      else
        header.codec = 2;
    });
    const TapeReader reader = read(newer);
    EXPECT_TRUE(reader.samples().empty());
    EXPECT_TRUE(reader.damage().empty());
    EXPECT_EQ(reader.unknown_chunks(), 1u);
  }
}

TEST(Damage, ManyFalseStartsDoNotTakeForEver) {
  // Headers that are right, each of a chunk as large as possible that is not: reading every payload would take minutes.
  Bytes bytes = SampleTape(10).bytes();
  format::ChunkHeader header{};
  header.sync = format::kSync;
  header.type = static_cast<std::uint8_t>(format::ChunkType::Meta);
  header.stored_bytes = header.raw_bytes = format::kMaxPayloadBytes / 2;
  header.header_checksum = format::chunk_header_checksum(header);
  const auto* raw = reinterpret_cast<const std::byte*>(&header);
  const std::size_t size = bytes.size();
  while (bytes.size() < size + 2 * std::size_t{format::kMaxPayloadBytes}) {
    bytes.insert(bytes.end(), raw, raw + sizeof header);
    bytes.push_back(std::byte{0}); // so that none follows another
  }
  const TapeReader reader = read(bytes);
  EXPECT_EQ(count_events(reader), 10u);
  EXPECT_FALSE(reader.damage().empty());
}

TEST(Damage, ADamagedFileHeaderIsPassedOverWhenAChunkFollows) {
  const Bytes bytes = SampleTape(50).bytes();
  for (std::size_t offset = 0; offset < sizeof(format::FileHeader); ++offset) {
    Bytes wrong = bytes;
    wrong[offset] ^= std::byte{0x40};
    const TapeReader reader = read(wrong);
    EXPECT_EQ(count_events(reader), 50u) << offset;
    ASSERT_EQ(reader.damage().size(), 1u) << offset;
    EXPECT_EQ(reader.damage()[0].offset, 0u);
    EXPECT_EQ(reader.header().version_major, 0u);
  }
}

} // namespace
} // namespace heaptape
