// The index on the tape: what was written is read, what is wrong is noticed, and the tape stays good whatever happens.
#include "analysis/index/index.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "analysis/index/naive_findings_for_test.h"
#include "analysis/index/tape_for_test.h"
#include "analysis/moment/heap_cursor.h"
#include "analysis/moment/moments.h"
#include "base/unique_fd.h"
#include "tape/appender.h"
#include "tape/chunk_scanner.h"
#include "tape/sample_tape.h"

namespace heaptape {
namespace {

using test::SmallTape;
using test::wild_events;
using Bytes = std::vector<std::byte>;

constexpr std::uint32_t kStacks = 30;
const MakeIndex kManyKeyframes{.events_apart = 100, .sizes_apart = 0};

std::vector<FoundChunk> blocks_of(const Bytes& bytes) {
  const TapeSource source = TapeSource::from_bytes(bytes);
  ChunkScanner scanner(source, sizeof(format::FileHeader), Checksums::Verify);
  std::vector<FoundChunk> blocks;
  while (const auto block = scanner.next()) blocks.push_back(*block);
  return blocks;
}

TEST(Index, WhatIsAppendedIsWhatWasBuilt) {
  const SmallTape file(wild_events(1, 2000), kStacks, 64);
  EXPECT_EQ(load_index(file.open()).state, IndexState::Absent);
  const Index built = build_index(file.open(), kManyKeyframes);
  ASSERT_TRUE(append_index(file.path(), kManyKeyframes).ok());
  const TapeReader tape = file.open();
  EXPECT_TRUE(tape.damage().empty());
  EXPECT_EQ(tape.unknown_chunks(), 0u);
  const FoundIndex found = load_index(tape);
  ASSERT_EQ(found.state, IndexState::Good);
  EXPECT_EQ(found.index.findings, built.findings);
  ASSERT_EQ(found.index.keyframes.size(), built.keyframes.size());
  EXPECT_GT(found.index.keyframes.size(), 10u);
  // And they hold the same.
  HeapCursor on_tape(tape, found.index), in_memory(tape, built);
  for (const std::uint64_t event : {1999u, 150u, 1000u, 101u}) {
    on_tape.seek_event(event);
    in_memory.seek_event(event);
    EXPECT_EQ(on_tape.totals(), in_memory.totals());
    EXPECT_EQ(live_by_owner(on_tape.state()), live_by_owner(in_memory.state()));
    EXPECT_EQ(on_tape.state().mappings().pieces(), in_memory.state().mappings().pieces());
    EXPECT_EQ(on_tape.state().unknown_unmaps(), in_memory.state().unknown_unmaps());
  }
}

TEST(Index, EventsOfPoolsAreCountedInTheAnswersAndInKeyframes) {
  std::vector<Event> events = wild_events(5, 1000);
  for (std::size_t i = 0; i < events.size(); i += 3) {
    const bool frees = i % 2 == 0;
    events[i].kind = frees ? EventKind::PoolFree : EventKind::PoolAlloc;
    events[i].old_address = 1 + i % 4;
    events[i].size = frees ? 0 : 8;
  }
  const SmallTape file(events, kStacks, 64);
  const Index built = build_index(file.open(), kManyKeyframes);
  ASSERT_TRUE(append_index(file.path(), kManyKeyframes).ok());
  const TapeReader tape = file.open();
  const FoundIndex found = load_index(tape);
  ASSERT_EQ(found.state, IndexState::Good);
  EXPECT_EQ(found.index.findings.totals, built.findings.totals);
  EXPECT_EQ(found.index.findings.totals.per_kind[static_cast<std::size_t>(EventKind::PoolAlloc)], 167u);
  HeapCursor on_tape(tape, found.index), in_memory(tape, built);
  for (const std::uint64_t event : {900u, 150u}) {
    on_tape.seek_event(event);
    in_memory.seek_event(event);
    EXPECT_EQ(on_tape.totals(), in_memory.totals());
  }
}

TEST(Index, OfATapeWithoutEventsIsAnIndexToo) {
  const SmallTape file({}, kStacks, 64);
  ASSERT_TRUE(append_index(file.path()).ok());
  const FoundIndex found = load_index(file.open());
  EXPECT_EQ(found.state, IndexState::Good);
  EXPECT_EQ(found.index.findings.totals.events, 0u);
  const TapeReader tape = file.open();
  HeapCursor cursor(tape, found.index);
  cursor.seek_event(5);
  EXPECT_EQ(cursor.event(), 0u);
  EXPECT_EQ(cursor.step(), nullptr);
}

TEST(Index, OddSizesAddressesAndTimesComeBackFromAKeyframe) {
  std::vector<Event> events;
  const auto add = [&](std::uint64_t address, std::uint64_t size, std::uint64_t time_us) {
    Event event;
    event.number = events.size() + 1;
    event.time_us = time_us;
    event.kind = EventKind::Malloc;
    event.address = address;
    event.size = size;
    event.stack = StackId(static_cast<std::uint32_t>(events.size() % 5));
    event.thread = ThreadId(~static_cast<std::uint32_t>(events.size()));
    events.push_back(event);
  };
  add(1, 0, 0);
  add(0xffff'ffff'ffff'ffff, 0xffff'ffff'ffff'ffff, 1);
  add(0x1000'0000'0000'0000, 1, 1);
  add(0x7fff'ffff'fff3, std::uint64_t{1} << 40, std::uint64_t{1} << 50);
  add(0x5555'5555'0010, 3, std::uint64_t{1} << 50);
  add(0x5555'5555'0020, 3, std::uint64_t{1} << 50);
  const SmallTape file(events, kStacks, 2);
  const TapeReader tape = file.open();
  const Index index = build_index(tape, {.events_apart = 1, .sizes_apart = 0});
  ASSERT_EQ(index.keyframes.size(), 2u); // none at the very end
  HeapCursor cursor(tape, index);
  cursor.seek_event(4);
  EXPECT_EQ(cursor.state().blocks().size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto block = cursor.find(events[i].address);
    ASSERT_TRUE(block.has_value()) << i;
    EXPECT_EQ(block->size, events[i].size);
    EXPECT_EQ(block->time_us, events[i].time_us);
    EXPECT_EQ(cursor.owner_of(*block), (Owner{events[i].stack, events[i].thread}));
  }
}

TEST(Index, OpeningATapeMakesItOnceAndThenOnlyReadsIt) {
  const SmallTape file(wild_events(2, 2000), kStacks, 64);
  std::uint64_t passes = 0;
  OpenIndexed options;
  options.make.progress = [&](std::uint64_t done, std::uint64_t all) { passes += done == all ? 1 : 0; };
  const auto first = open_indexed_tape(file.path(), options);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first.value().found, IndexState::Absent);
  EXPECT_TRUE(first.value().on_tape);
  EXPECT_EQ(passes, 1u);
  const auto second = open_indexed_tape(file.path(), options);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second.value().found, IndexState::Good);
  EXPECT_EQ(passes, 1u);
  EXPECT_EQ(second.value().index.findings, first.value().index.findings);
}

TEST(Index, OfATapeThatMayNotBeWrittenToStaysInMemory) {
  const SmallTape file(wild_events(2, 500), kStacks, 64);
  const Bytes before = file.bytes();
  const UniqueFd lock(::open(file.path().c_str(), O_RDONLY)); // root may write to anything, so somebody else holds it
  ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
  const Result<> refused = append_index(file.path());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Exists);
  const auto opened = open_indexed_tape(file.path());
  ASSERT_TRUE(opened.ok());
  EXPECT_FALSE(opened.value().on_tape);
  EXPECT_EQ(opened.value().index.findings.totals.events, 500u);
  EXPECT_EQ(file.bytes(), before);
}

TEST(Index, OfATapeThatIsStillBeingWrittenIsNotAppended) {
  const SmallTape file(wild_events(2, 500), kStacks, 64, false);
  const Bytes before = file.bytes();
  const Result<> refused = append_index(file.path());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
  const auto opened = open_indexed_tape(file.path());
  ASSERT_TRUE(opened.ok());
  EXPECT_FALSE(opened.value().on_tape);
  EXPECT_EQ(opened.value().index.findings.totals.events, 500u);
  EXPECT_EQ(file.bytes(), before);
}

TEST(Index, ThatTellsOfOtherEventsIsStaleAndSuperseded) {
  const SmallTape file(wild_events(1, 500), kStacks, 64);
  ASSERT_TRUE(append_index(file.path()).ok());
  const Bytes indexed = file.bytes();
  // The last chunk of events goes; everything else moves up, checksums right.
  const auto blocks = blocks_of(indexed);
  FoundChunk last_events;
  for (const FoundChunk& block : blocks)
    if (block.header.type == static_cast<std::uint8_t>(format::ChunkType::Events)) last_events = block;
  Bytes shorter(indexed.begin(), indexed.begin() + static_cast<std::ptrdiff_t>(last_events.offset));
  shorter.insert(shorter.end(), indexed.begin() + static_cast<std::ptrdiff_t>(last_events.end()), indexed.end());
  file.write(shorter);
  EXPECT_EQ(load_index(file.open()).state, IndexState::Stale);
  const auto opened = open_indexed_tape(file.path());
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened.value().found, IndexState::Stale);
  EXPECT_TRUE(opened.value().on_tape);
  EXPECT_EQ(opened.value().index.findings.totals.events, 500u - 500u % 64);
  EXPECT_EQ(load_index(file.open()).state, IndexState::Good);
}

TEST(Index, OfALaterLayoutIsMadeAnewInOurs) {
  const SmallTape file(wild_events(1, 500), kStacks, 64);
  {
    auto appender = TapeAppender::open(file.path());
    ASSERT_TRUE(appender.ok());
    const std::byte later[] = {std::byte{99}, std::byte{0}};
    ASSERT_TRUE(appender.value().add(format::ChunkType::Index, later).ok());
  }
  EXPECT_EQ(load_index(file.open()).state, IndexState::Damaged);
  EXPECT_TRUE(open_indexed_tape(file.path()).ok());
  EXPECT_EQ(load_index(file.open()).state, IndexState::Good);
}

TEST(Index, OfATapeWithDamagedEventsSaysHowManyItLacks) {
  const SmallTape file(wild_events(1, 500), kStacks, 50);
  Bytes bytes = file.bytes();
  for (const FoundChunk& block : blocks_of(bytes)) {
    if (block.header.type != static_cast<std::uint8_t>(format::ChunkType::Events)) continue;
    bytes[block.end() - 1] ^= std::byte{1};
    break;
  }
  file.write(bytes);
  ASSERT_TRUE(append_index(file.path()).ok());
  const FoundIndex found = load_index(file.open());
  ASSERT_EQ(found.state, IndexState::Good);
  EXPECT_EQ(found.index.findings.unread_events, 50u);
  EXPECT_EQ(found.index.findings.totals.events, 450u);
}

TEST(Index, CutOffAnywhereLeavesAGoodTapeAndIsAppendedAnew) {
  const SmallTape file(wild_events(3, 600), kStacks, 100);
  const std::size_t plain_bytes = file.bytes().size();
  const Findings findings = build_index(file.open()).findings;
  ASSERT_TRUE(append_index(file.path(), kManyKeyframes).ok());
  const Bytes indexed = file.bytes();
  for (std::size_t size = plain_bytes; size < indexed.size(); size += size + 40 < indexed.size() ? 37 : 1) {
    file.write(Bytes(indexed.begin(), indexed.begin() + static_cast<std::ptrdiff_t>(size)));
    ASSERT_EQ(load_index(file.open()).state, IndexState::Absent) << size;
    ASSERT_TRUE(append_index(file.path(), kManyKeyframes).ok());
    ASSERT_EQ(file.bytes(), indexed) << size; // nothing of the torn one is left behind
  }
  EXPECT_EQ(load_index(file.open()).index.findings, findings);
}

TEST(Index, EveryFlippedBitIsNoticedOrDoesNoHarm) {
  const SmallTape file(wild_events(4, 300), kStacks, 100);
  ASSERT_TRUE(append_index(file.path(), kManyKeyframes).ok());
  const Bytes indexed = file.bytes();
  const Findings findings = load_index(file.open()).index.findings;
  std::size_t rebuilt = 0;
  for (std::size_t at = 0; at < indexed.size(); ++at) {
    Bytes wrong = indexed;
    wrong[at] ^= static_cast<std::byte>(1u << at % 8);
    const auto opened = TapeReader::from_bytes(wrong, "flipped.tape");
    ASSERT_TRUE(opened.ok()) << at;
    const TapeReader& tape = opened.value();
    FoundIndex found = load_index(tape);
    if (found.state != IndexState::Good) {
      found.index = build_index(tape, kManyKeyframes);
      ++rebuilt;
    }
    if (tape.damage().empty()) {
      ASSERT_EQ(found.index.findings, findings) << at;
    } else if (found.state == IndexState::Good) {
      ASSERT_EQ(found.index.findings.totals, findings.totals) << at;
    }
    // A moment is right, or the cursor names the damage it met.
    if (at % 5 != 0) continue;
    HeapCursor cursor(tape, found.index);
    cursor.seek_event(290);
    std::uint64_t allocated = 0;
    for (const Event& event : wild_events(4, 290))
      if (event.address != 0 && (is_allocation(event.kind) || is_reallocation(event.kind))) allocated += event.size;
    if (tape.damage().empty() && cursor.damage().empty()) {
      ASSERT_EQ(cursor.totals().allocated_bytes, allocated) << at;
    }
  }
  EXPECT_GT(rebuilt, indexed.size() / 10);
}

// The tape of the first version with an index stays readable for ever: its index lacks figures of today, so it is made again.
TEST(Index, OfTheGoldenTapeOfVersionOneOneIsOfAnEarlierLayoutAndMadeAgain) {
  const auto tape = TapeReader::open(HEAPTAPE_GOLDEN_TAPES "/version-1.1-index.tape");
  ASSERT_TRUE(tape.ok()) << tape.error().sentence;
  EXPECT_TRUE(tape.value().damage().empty());
  EXPECT_EQ(load_index(tape.value()).state, IndexState::Damaged);
  const Index built = build_index(tape.value());
  EXPECT_EQ(built.findings.totals.events, 3000u);
  HeapCursor cursor(tape.value(), built);
  cursor.seek_event(2500);
  EXPECT_EQ(cursor.totals().events, 2500u);
}

TEST(Index, AFullDiskLeavesTheTapeAsItWas) {
  const SmallTape file(wild_events(3, 3000), kStacks, 100);
  const Bytes before = file.bytes();
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{before.size() + 3000, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const Result<> appended = append_index(file.path(), kManyKeyframes);
  const auto opened = open_indexed_tape(file.path(), {.append = true, .make = kManyKeyframes});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  ASSERT_FALSE(appended.ok());
  EXPECT_EQ(appended.error().code, ErrorCode::Io);
  EXPECT_EQ(file.bytes(), before);
  ASSERT_TRUE(opened.ok());
  EXPECT_FALSE(opened.value().on_tape);
  EXPECT_EQ(opened.value().index.findings.totals.events, 3000u);
}

TEST(Index, InMemoryKeepsFewerKeyframesRatherThanTooMany) {
  std::vector<Event> events;
  for (std::uint64_t i = 1; i <= 40'000; ++i) {
    Event event;
    event.number = i;
    event.kind = EventKind::Malloc;
    event.address = 16 * (i * 2654435761 % 1'000'000'007);
    event.size = i * 7919 % 100'000;
    events.push_back(event);
  }
  const SmallTape file(events, kStacks, 50);
  const TapeReader tape = file.open();
  const Index index = build_index(tape, {.events_apart = 50, .sizes_apart = 0});
  std::uint64_t bytes = 0;
  for (const Keyframe& keyframe : index.keyframes)
    for (const auto& part : keyframe.in_memory) bytes += part.size();
  EXPECT_LE(bytes, std::uint64_t{64} << 20);
  EXPECT_GT(index.keyframes.size(), 50u);
  HeapCursor cursor(tape, index);
  cursor.seek_event(35'001);
  EXPECT_EQ(cursor.totals().live_blocks, 35'001u);
}

} // namespace
} // namespace heaptape
