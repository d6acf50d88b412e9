// EventEncoder and EventDecoder together: what goes in comes out.
#include <gtest/gtest.h>

#include <cstring>

#include "tape/event_decoder.h"
#include "tape/event_encoder.h"
#include "tape/event_model.h"
#include "tape/random_events.h"

namespace heaptape {
namespace {

using test::EventMaker;
using test::KnownEvent;

std::vector<std::byte> encode(const std::vector<KnownEvent>& events) {
  EventEncoder encoder;
  for (const KnownEvent& known : events) encoder.add(known.event, known.allocated_at);
  const auto payload = encoder.finish();
  return {payload.begin(), payload.end()};
}

std::vector<Event> decode(std::span<const std::byte> payload, bool* failed = nullptr) {
  EventDecoder decoder;
  std::vector<Event> events, room(77);
  if (decoder.start(payload)) {
    for (auto run = decoder.next(room); !run.empty(); run = decoder.next(room))
      events.insert(events.end(), run.begin(), run.end());
  }
  if (failed != nullptr) *failed = decoder.failed();
  return events;
}

void expect_round_trip(const std::vector<KnownEvent>& events) {
  bool failed = true;
  const std::vector<Event> back = decode(encode(events), &failed);
  EXPECT_FALSE(failed);
  ASSERT_EQ(back.size(), events.size());
  for (std::size_t i = 0; i < events.size(); ++i) ASSERT_EQ(back[i], events[i].event) << "event " << i;
}

KnownEvent event(std::uint64_t number, EventKind kind, std::uint64_t address, std::uint64_t size = 0,
                 std::uint64_t allocated_at = 0) {
  KnownEvent known;
  known.event.number = number;
  known.event.kind = kind;
  known.event.address = address;
  known.event.size = size;
  known.event.stack = StackId(static_cast<std::uint32_t>(kind));
  known.event.thread = ThreadId(1);
  known.allocated_at = allocated_at;
  return known;
}

TEST(EventCodec, EventsShrinkAsTheExampleInTheEncoderSays) {
  std::vector<KnownEvent> events;
  for (std::uint64_t i = 1; i <= 9; i += 2) {
    events.push_back(event(i, EventKind::Malloc, 0x5010, 24));
    events.push_back(event(i + 1, EventKind::Free, 0x5010, 0, i));
  }
  const std::vector<std::byte> payload = encode(events);
  format::EventChunkHead head;
  std::memcpy(&head, payload.data(), sizeof head);
  ASSERT_EQ(head.columns[format::Ops].stored_bytes, events.size()) << "too short to be compressed";
  const unsigned expected[] = {0xf5, 0x62, 0x40, 0x20, 0x20, 0, 0, 0, 0, 0};
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(std::to_integer<unsigned>(payload[sizeof head + i]), expected[i]) << "event " << i + 1;
  }
}

TEST(EventCodec, GivesBackRandomStreamsOfAllKinds) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    expect_round_trip(EventMaker(seed).take(1 + seed * 13));
    if (HasFatalFailure()) return;
  }
}

TEST(EventCodec, GivesBackAFullBlock) { expect_round_trip(EventMaker(7).take(EventEncoder::kMaxEvents)); }

TEST(EventCodec, GivesBackAFullBlockInWhichEveryEventHasItsOwnStackAndThread) {
  auto events = EventMaker(8).take(EventEncoder::kMaxEvents);
  for (KnownEvent& known : events) {
    known.event.stack = StackId(static_cast<std::uint32_t>(known.event.number * 2'654'435'761u));
    known.event.thread = ThreadId(static_cast<std::uint32_t>(known.event.number * 40'503u));
  }
  expect_round_trip(events);
}

TEST(EventCodec, GivesBackTheLargestNumbers) {
  constexpr std::uint64_t most = ~std::uint64_t{0};
  std::vector<KnownEvent> events;
  for (const EventKind kind : {EventKind::Malloc, EventKind::Realloc, EventKind::Mremap, EventKind::Free}) {
    for (const std::uint64_t value : {std::uint64_t{1}, most, std::uint64_t{1} << 63, most - 15, std::uint64_t{0}}) {
      KnownEvent known = event(most / 2 + events.size(), kind, value, kind == EventKind::Free ? 0 : value);
      known.event.time_us = most - 100 + events.size();
      known.event.stack = StackId(static_cast<std::uint32_t>(value));
      known.event.thread = ThreadId(static_cast<std::uint32_t>(value));
      if (kind == EventKind::Realloc || kind == EventKind::Mremap) known.event.old_address = most - value;
      if (kind == EventKind::Mremap) known.event.old_size = most - value;
      events.push_back(known);
    }
  }
  expect_round_trip(events);
}

TEST(EventCodec, StartsOverAfterEachBlock) {
  EventEncoder encoder;
  const auto events = EventMaker(3).take(3000);
  EventDecoder decoder;
  std::size_t at = 0;
  for (const std::size_t count : {1000u, 1u, 1999u}) {
    for (std::size_t i = 0; i < count; ++i) encoder.add(events[at + i].event, events[at + i].allocated_at);
    EXPECT_EQ(encoder.count(), count);
    EXPECT_EQ(encoder.first_number(), events[at].event.number);
    const auto payload = encoder.finish();
    EXPECT_TRUE(encoder.empty());
    // Decoded on its own, by a decoder that has not seen the blocks before.
    const auto back = decode(payload);
    ASSERT_EQ(back.size(), count);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(back[i], events[at + i].event);
    at += count;
  }
}

TEST(EventCodec, RaisesATimeThatGoesBack) {
  auto first = event(1, EventKind::Malloc, 0x1000, 8);
  auto second = event(2, EventKind::Malloc, 0x2000, 8);
  auto third = event(3, EventKind::Malloc, 0x3000, 8);
  first.event.time_us = 100;
  second.event.time_us = 50;
  third.event.time_us = 101;
  const auto back = decode(encode({first, second, third}));
  ASSERT_EQ(back.size(), 3u);
  EXPECT_EQ(back[1].time_us, 100u);
  EXPECT_EQ(back[2].time_us, 101u);
}

TEST(EventCodec, AWrongAllocatedAtMakesTheBlockLargerButNotWrong) {
  expect_round_trip({event(1, EventKind::Malloc, 0x1000, 8), event(2, EventKind::Malloc, 0x2000, 8),
                     event(3, EventKind::Free, 0x2000, 0, 1),    // another block
                     event(4, EventKind::Free, 0x2000, 0, 3),    // a release
                     event(5, EventKind::Free, 0x1000, 0, 5),    // itself
                     event(6, EventKind::Free, 0x1000, 0, 9999), // the future
                     event(7, EventKind::Free, 0x1000, 0, 1),    // right
                     event(8, EventKind::Free, 0x1000, 0, 1)});  // released before
}

TEST(EventCodec, TakesLittleRoomForAProgramThatRepeatsItself) {
  std::vector<KnownEvent> events;
  for (std::uint64_t number = 1; number <= 40'000; number += 2) {
    events.push_back(event(number, EventKind::Malloc, 0x5000, 24));
    events.push_back(event(number + 1, EventKind::Free, 0x5000, 0, number));
  }
  EXPECT_LT(encode(events).size(), 400u);
}

TEST(EventCodec, RefusesAPayloadCutAtAnyLength) {
  const auto payload = encode(EventMaker(5).take(200));
  for (std::size_t size = 0; size < payload.size(); ++size) {
    EventDecoder decoder;
    EXPECT_FALSE(decoder.start(std::span(payload).first(size))) << size;
    EXPECT_TRUE(decoder.failed());
    std::vector<Event> room(10);
    EXPECT_TRUE(decoder.next(room).empty());
  }
}

TEST(EventCodec, SurvivesAnyByteBeingWrongWhenNoChecksumWouldTell) {
  const auto payload = encode(EventMaker(6).take(300));
  for (std::size_t at = 0; at < payload.size(); ++at) {
    for (const unsigned flip : {1u, 0x80u, 0xffu}) {
      auto wrong = payload;
      wrong[at] ^= static_cast<std::byte>(flip);
      EventDecoder decoder(Checksums::Ignore);
      if (!decoder.start(wrong)) continue;
      std::uint64_t last_us = 0;
      std::vector<Event> room(100);
      for (auto run = decoder.next(room); !run.empty(); run = decoder.next(room)) {
        for (const Event& got : run) {
          EXPECT_LT(got.kind, EventKind::TapeKinds);
          EXPECT_GE(got.time_us, last_us);
          last_us = got.time_us;
        }
      }
    }
  }
}

KnownEvent pool_event(std::uint64_t number, EventKind kind, std::uint64_t pool, std::uint64_t address,
                      std::uint64_t size = 0, std::uint64_t allocated_at = 0) {
  KnownEvent known = event(number, kind, address, size, allocated_at);
  known.event.old_address = pool;
  return known;
}

TEST(EventCodec, GivesBackPoolsOfAllNumbersAndResets) {
  const std::uint64_t most = codec::kMostSitePool, all = ~std::uint64_t{0};
  expect_round_trip(
      {pool_event(1, EventKind::PoolAlloc, 1, 0x1000, 16), pool_event(2, EventKind::PoolAlloc, most, 0x1000, all),
       pool_event(3, EventKind::PoolAlloc, most + 1, 0x1000, 16), pool_event(4, EventKind::PoolAlloc, all, all, 0),
       pool_event(5, EventKind::PoolFree, 1, 0x1000, 0, 1), pool_event(6, EventKind::PoolFree, most, 0),
       pool_event(7, EventKind::PoolFree, 0, 0x1000), pool_event(8, EventKind::PoolFree, 1, 0x1000, 7, 1),
       pool_event(9, EventKind::PoolFree, all, 0), pool_event(10, EventKind::PoolAlloc, 1, 0x1000, 16)});
}

TEST(EventCodec, OneSiteInTwoPoolsIsTwoSites) {
  std::vector<KnownEvent> events;
  for (std::uint64_t i = 0; i < 100; ++i)
    events.push_back(pool_event(i + 1, EventKind::PoolAlloc, 1 + i % 2, 0x1000 + 64 * i, i % 2 == 0 ? 48 : 24));
  expect_round_trip(events);
}

TEST(EventCodec, TakesLittleRoomForAnArenaAndAWrapperOfMalloc) {
  std::vector<KnownEvent> events;
  std::uint64_t number = 0, top = 0x7000'0000;
  const auto add = [&](KnownEvent known) { events.push_back(known); };
  for (std::uint64_t round = 0; round < 5000; ++round) {
    const std::uint64_t size = 8 + round * 7 % 90, block = 0x5000'0000 + round % 16 * 128;
    add(pool_event(++number, EventKind::PoolAlloc, 1, top, size));
    top += (size + 7) & ~std::uint64_t{7};
    if (round % 1000 == 999) add(pool_event(++number, EventKind::PoolFree, 1, 0));
    const std::uint64_t made = number + 1;
    add(event(made, EventKind::Malloc, block, 100));
    add(pool_event(made + 1, EventKind::PoolAlloc, 2, block, 100));
    add(pool_event(made + 2, EventKind::PoolFree, 2, block, 0, made + 1));
    add(event(made + 3, EventKind::Free, block, 0, made));
    number = made + 3;
  }
  expect_round_trip(events);
  EXPECT_LT(encode(events).size(), 2 * events.size()); // bytes per event
}

} // namespace
} // namespace heaptape
