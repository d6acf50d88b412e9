#include "report/text/damage_text.h"

#include <gtest/gtest.h>

#include "base/number_text.h"
#include "tape/sample_tape.h"

namespace heaptape {
namespace {

using Bytes = std::vector<std::byte>;

TapeReader read(const Bytes& bytes) {
  Result<TapeReader> reader = TapeReader::from_bytes(bytes, "damaged.tape");
  EXPECT_TRUE(reader.ok());
  return std::move(reader).value();
}

void flip(Bytes& bytes, std::uint64_t offset) { bytes[static_cast<std::size_t>(offset)] ^= std::byte{0x55}; }

TEST(TapeDamage, AGoodTapeHasNone) {
  const Bytes bytes = SampleTape(100).bytes(25);
  const TapeDamage damage = damage_of(read(bytes));
  EXPECT_TRUE(damage.empty());
  EXPECT_EQ(damage_sentence(damage, 0), "");
  EXPECT_EQ(with_damage("{\"a\":1}", damage), "{\"a\":1}");
}

// The index was good, so nobody looked at the events.
TEST(TapeDamage, AFlippedByteInsideAnEventsChunkIsNoticedAndItsEventsAreCounted) {
  Bytes bytes = SampleTape(100).bytes(25);
  const EventChunkInfo chunk = read(bytes).event_chunks()[1];
  flip(bytes, chunk.offset + chunk.bytes - 3);
  const TapeDamage damage = damage_of(read(bytes));
  EXPECT_EQ(damage.missing_events, 25u);
  EXPECT_EQ(damage.bytes, chunk.bytes);
  const std::string place = count_of(chunk.bytes, "byte") + " skipped at offset " + std::to_string(chunk.offset);
  EXPECT_EQ(damage_sentence(damage, 0), place + " (checksum differs); 25 of 100 events missing; totals were counted "
                                                "while they were whole, but answers that need these events are "
                                                "incomplete");
  EXPECT_EQ(damage_sentence(damage, 25),
            place + " (checksum differs); 25 of 100 events missing, and all answers are without them");
  EXPECT_TRUE(with_damage("{\"a\":1}\n", damage).starts_with("{\"damage\":[{\"offset\":"));
  EXPECT_TRUE(with_damage("{\"a\":1}\n", damage).ends_with("],\"missing_events\":25,\"a\":1}\n"));
  EXPECT_EQ(with_damage("[1]", damage), "[1]");
}

TEST(TapeDamage, EventsOfAChunkWhoseHeaderIsGoneAreMissing) {
  Bytes bytes = SampleTape(100).bytes(25);
  flip(bytes, read(bytes).event_chunks()[3].offset + 12);
  EXPECT_EQ(damage_of(read(bytes)).missing_events, 25u) << "of the last chunk, which only the summary knows of";
}

TEST(TapeDamage, PagesThatCannotBeReadAreNoMissingEvents) {
  Bytes bytes = SampleTape(100).bytes(25, SampleTape::With::Memory);
  const PagesChunk chunk = read(bytes).pages_chunks()[0];
  for (const bool events_too : {false, true}) {
    if (events_too)
      flip(bytes, read(bytes).event_chunks()[1].offset + 200);
    else
      flip(bytes, chunk.offset + chunk.bytes - 3);
    const TapeDamage damage = damage_of(read(bytes));
    EXPECT_EQ(damage.missing_events, events_too ? 25u : 0u);
    EXPECT_NE(damage_sentence(damage, 0).find("checksum of pages of snapshots differs"), std::string::npos);
  }
}

TEST(TapeDamage, ADamagedFileHeaderIsNamed) {
  Bytes bytes = SampleTape(100).bytes(25);
  flip(bytes, 20);
  const TapeReader tape = read(bytes);
  EXPECT_TRUE(tape.header().damaged);
  EXPECT_EQ(tape.event_count(), 100u);
  EXPECT_EQ(damage_sentence(damage_of(tape), 0),
            "64 bytes skipped at offset 0 (file header: checksum differs); no event is missing; the file header is "
            "damaged, so when the recording began is not known");
}

TEST(TapeDamage, ACutTapeIsNotSaidToLackNoEvent) {
  Bytes bytes = SampleTape(100).bytes(25);
  const TapeReader whole = read(bytes);
  const EventChunkInfo chunk = whole.event_chunks()[2];
  bytes.resize(static_cast<std::size_t>(chunk.offset + 50));
  EXPECT_EQ(damage_sentence(damage_of(read(bytes)), 0),
            "its last 50 bytes are torn off, and what came after them is missing");
}

TEST(TapeDamage, OfALargeTapeAPartIsChecked) {
  Bytes bytes = SampleTape(1000).bytes(10);
  const TapeReader whole = read(bytes);
  for (const EventChunkInfo& chunk : whole.event_chunks()) flip(bytes, chunk.offset + chunk.bytes - 3);
  const TapeReader tape = read(bytes);
  EXPECT_EQ(tape.check_event_chunks().size(), 100u);
  const std::size_t found = tape.check_event_chunks(bytes.size() / 4).size();
  EXPECT_GE(found, 20u);
  EXPECT_LE(found, 30u);
}

} // namespace
} // namespace heaptape
