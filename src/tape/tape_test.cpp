#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>

#include "tape/format.h"
#include "tape/reader.h"
#include "tape/sample_tape.h"
#include "tape/symbols_codec.h"
#include "tape/writer.h"

namespace heaptape {
namespace {

TapeReader open_bytes(const std::vector<std::byte>& bytes) {
  Result<TapeReader> reader = TapeReader::from_bytes(bytes, "test.tape");
  HT_CHECK(reader.ok());
  return std::move(reader).value();
}

std::vector<Event> all_events(const TapeReader& reader) {
  std::vector<Event> events;
  EventCursor cursor = reader.events();
  while (const Event* event = cursor.next()) events.push_back(*event);
  return events;
}

void expect_maps(const Maps& maps, const SampleTape& sample) {
  ASSERT_EQ(maps.size(), sample.maps.size());
  EXPECT_EQ(maps.names().texts(), sample.map_names.texts());
  for (std::size_t i = 0; i < maps.size(); ++i) {
    EXPECT_EQ(maps.time_us(i), 100 * i + 1);
    EXPECT_EQ(maps.ranges(i), sample.maps[i]);
  }
}

TEST(Tape, WhatIsWrittenIsReadBack) {
  const SampleTape sample(2000);
  const std::vector<std::byte> bytes = sample.bytes();
  const TapeReader reader = open_bytes(bytes);
  EXPECT_EQ(reader.header().pid, 4711u);
  EXPECT_EQ(reader.meta(), sample.meta);
  EXPECT_EQ(reader.modules(), sample.modules);
  EXPECT_EQ(reader.threads(), sample.threads);
  EXPECT_EQ(reader.samples(), sample.samples);
  ASSERT_TRUE(reader.summary().has_value());
  EXPECT_EQ(*reader.summary(), sample.summary);
  ASSERT_EQ(reader.stacks().size(), sample.stacks.size() + 1);
  for (std::size_t i = 0; i < sample.stacks.size(); ++i) EXPECT_EQ(reader.stacks()[i + 1], sample.stacks[i]);
  EXPECT_EQ(all_events(reader), sample.events);
  EXPECT_EQ(encode_symbols(reader.symbols()), encode_symbols(sample.symbols));
  expect_maps(reader.maps(), sample);
  EXPECT_EQ(reader.memory_errors(), sample.errors);
  EXPECT_EQ(reader.crashes(), sample.crashes);
  EXPECT_EQ(reader.crash(), &reader.crashes()[0]); // of the signal that the summary names
  EXPECT_TRUE(reader.damage().empty());
  EXPECT_EQ(reader.unknown_chunks(), 0u);
}

TEST(Tape, EventsOfManyRandomProgramsComeBackUnchanged) {
  for (std::uint32_t seed = 2; seed < 60; ++seed) {
    const SampleTape sample(1 + seed * 37, seed);
    const std::vector<std::byte> bytes = sample.bytes(seed % 5 == 0 ? 10 : EventEncoder::kMaxEvents);
    ASSERT_EQ(all_events(open_bytes(bytes)), sample.events) << "seed " << seed;
  }
}

TEST(Tape, ChunksOfTheLargestSizeComeBackUnchanged) {
  const SampleTape sample(EventEncoder::kMaxEvents + 1000);
  const std::vector<std::byte> bytes = sample.bytes();
  const TapeReader reader = open_bytes(bytes);
  EXPECT_EQ(reader.event_chunks().size(), 2u);
  EXPECT_EQ(all_events(reader), sample.events);
}

TEST(Tape, ACursorStartsAtAnyEventAndAnyTime) {
  const SampleTape sample(1000);
  const std::vector<std::byte> bytes = sample.bytes(64);
  const TapeReader reader = open_bytes(bytes);
  for (const std::uint64_t number : {1u, 2u, 64u, 65u, 500u, 1000u}) {
    EventCursor cursor = reader.events(number);
    const Event* event = cursor.next();
    ASSERT_NE(event, nullptr);
    EXPECT_EQ(event->number, number);
  }
  EventCursor past = reader.events(1001);
  EXPECT_EQ(past.next(), nullptr);
  const std::uint64_t time = sample.events[700].time_us;
  EventCursor at_time = reader.events_from_time(time);
  const Event* event = at_time.next();
  ASSERT_NE(event, nullptr);
  EXPECT_GE(event->time_us, time);
  EXPECT_LT(sample.events[event->number - 2].time_us, time);
}

TEST(Tape, CutAnywhereItGivesAllWholeChunks) {
  const SampleTape sample(120);
  const std::vector<std::byte> bytes = sample.bytes(30);
  std::size_t most = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    const Result<TapeReader> reader = TapeReader::from_bytes(cut, "cut.tape");
    if (size < sizeof(format::FileHeader)) {
      ASSERT_FALSE(reader.ok()) << "at " << size;
      continue;
    }
    ASSERT_TRUE(reader.ok()) << "at " << size;
    const std::vector<Event> events = all_events(reader.value());
    ASSERT_EQ(events.size() % 30, 0u) << "at " << size;
    ASSERT_GE(events.size(), most) << "at " << size;
    most = events.size();
    ASSERT_TRUE(std::equal(events.begin(), events.end(), sample.events.begin())) << "at " << size;
  }
  EXPECT_EQ(most, 120u);
}

TEST(Tape, AFlippedBitAnywhereCostsAtMostItsOwnChunk) {
  const SampleTape sample(100);
  const std::vector<std::byte> bytes = sample.bytes(25);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::vector<std::byte> damaged = bytes;
    damaged[at] ^= std::byte{1} << (at % 8);
    const Result<TapeReader> reader = TapeReader::from_bytes(damaged, "damaged.tape");
    if (!reader.ok()) {
      ASSERT_LT(at, sizeof(format::FileHeader));
      continue;
    }
    const std::vector<Event> events = all_events(reader.value());
    ASSERT_GE(events.size(), 75u) << "at " << at;
    for (const Event& event : events) {
      Event expected = sample.events[event.number - 1];
      if (reader.value().stacks().size() < sample.stacks.size())
        expected.stack = event.stack; // its STACKS chunk is gone
      ASSERT_EQ(event, expected) << "at " << at;
    }
  }
}

TEST(Tape, ANewerMajorVersionIsRefusedWithBothVersionsNamed) {
  std::vector<std::byte> bytes = SampleTape(10).bytes();
  format::FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.major = format::kMajor + 1;
  header.checksum = format::file_header_checksum(header);
  std::memcpy(bytes.data(), &header, sizeof header);
  const Result<TapeReader> reader = TapeReader::from_bytes(bytes, "new.tape");
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.error().code, ErrorCode::BadVersion);
  EXPECT_NE(reader.error().sentence.find("2.6"), std::string::npos) << reader.error().sentence;
  EXPECT_NE(reader.error().sentence.find("1.6"), std::string::npos) << reader.error().sentence;
}

TEST(Tape, ChunksOfAnUnknownTypeAreSkipped) {
  std::vector<std::byte> bytes = SampleTape(10).bytes();
  format::ChunkHeader header{};
  header.sync = format::kSync;
  header.type = 200;
  header.payload_checksum = format::checksum({});
  header.header_checksum = format::chunk_header_checksum(header);
  const auto* raw = reinterpret_cast<const std::byte*>(&header);
  bytes.insert(bytes.begin() + sizeof(format::FileHeader), raw, raw + sizeof header);
  const TapeReader reader = open_bytes(bytes);
  EXPECT_EQ(reader.event_count(), 10u);
  EXPECT_EQ(reader.unknown_chunks(), 1u);
}

TEST(Tape, WhatIsNoTapeIsSaidInASentence) {
  for (const std::string text :
       {"", "x", "#!/bin/sh\necho this is long enough to be a header of a tape, but it is not one\n"}) {
    const std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(text.data()),
                                       reinterpret_cast<const std::byte*>(text.data()) + text.size());
    const Result<TapeReader> reader = TapeReader::from_bytes(bytes, "some.file");
    ASSERT_FALSE(reader.ok());
    EXPECT_EQ(reader.error().code, ErrorCode::NotATape);
    EXPECT_NE(reader.error().sentence.find("some.file"), std::string::npos);
  }
  EXPECT_EQ(TapeReader::open("/no/such.tape").error().code, ErrorCode::NotFound);
  EXPECT_FALSE(TapeReader::open("/tmp").ok());
}

TEST(TapeWriter, NeverOverwritesUnlessToldAndKeepsTheTapePrivate) {
  const std::string path = testing::TempDir() + "private.tape";
  ::unlink(path.c_str());
  ASSERT_TRUE(TapeWriter::create({.path = path}).ok());
  struct stat facts {};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  EXPECT_EQ(TapeWriter::create({.path = path}).error().code, ErrorCode::Exists);
  EXPECT_TRUE(TapeWriter::create({.path = path, .overwrite = true}).ok());
  ::unlink(path.c_str());
}

TEST(TapeWriter, ADeviceIsAnErrorThatNamesIt) {
  const Result<TapeWriter> writer = TapeWriter::create({.path = "/dev/full", .overwrite = true});
  ASSERT_FALSE(writer.ok());
  EXPECT_NE(writer.error().sentence.find("/dev/full"), std::string::npos) << writer.error().sentence;
}

// Tapes of every format version stay readable for ever. HEAPTAPE_WRITE_GOLDEN=FILE writes a new one, for a new version.
void expect_golden(const char* name) {
  const SampleTape sample(3000, 42);
  const Result<TapeReader> reader = TapeReader::open(std::string(HEAPTAPE_GOLDEN_TAPES "/") + name);
  ASSERT_TRUE(reader.ok()) << reader.error().sentence;
  EXPECT_EQ(all_events(reader.value()), sample.events);
  EXPECT_EQ(reader.value().meta(), sample.meta);
  EXPECT_EQ(reader.value().modules(), sample.modules);
  EXPECT_EQ(*reader.value().summary(), sample.summary);
  if (reader.value().header().version_minor >= 1) {
    EXPECT_EQ(encode_symbols(reader.value().symbols()), encode_symbols(sample.symbols));
  }
  if (reader.value().header().version_minor >= 2) {
    EXPECT_EQ(reader.value().threads(), sample.threads);
    expect_maps(reader.value().maps(), sample);
  }
  if (reader.value().header().version_minor >= 4) {
    EXPECT_EQ(reader.value().odd_calls(), sample.odd);
  }
  if (reader.value().header().version_minor >= 5) {
    ASSERT_EQ(reader.value().snapshots().size(), 1u);
    MemorySnapshot memory = reader.value().snapshots()[0];
    ASSERT_EQ(memory.regions.size(), sample.memory().regions.size());
    memory.regions = sample.memory().regions; // whose names have other numbers
    EXPECT_EQ(memory, sample.memory());
    ASSERT_EQ(reader.value().pages_chunks().size(), 1u);
    EXPECT_EQ(reader.value().read_pages(reader.value().pages_chunks()[0]), SampleTape::memory_pages());
  }
  if (reader.value().header().version_minor >= 6) {
    EXPECT_EQ(reader.value().memory_errors(), sample.errors);
    EXPECT_EQ(reader.value().crashes(), sample.crashes);
  } else {
    EXPECT_EQ(reader.value().memory_errors(), MemoryErrors());
  }
}

TEST(Tape, TheGoldenTapesOfAllVersionsAreRead) {
  if (const char* path = std::getenv("HEAPTAPE_WRITE_GOLDEN"); path != nullptr) {
    const std::vector<std::byte> bytes = SampleTape(3000, 42).bytes(1000, SampleTape::With::Memory);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  expect_golden("version-1.0.tape");
  expect_golden("version-1.1.tape");
  expect_golden("version-1.2.tape");
  expect_golden("version-1.3.tape");
  expect_golden("version-1.4.tape");
  expect_golden("version-1.5.tape");
  expect_golden("version-1.6.tape");
}

} // namespace
} // namespace heaptape
