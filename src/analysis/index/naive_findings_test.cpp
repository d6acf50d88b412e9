// Random histories: every figure is what the slow way says.
#include <gtest/gtest.h>

#include <stdlib.h>

#include "analysis/heap/heap_model.h"
#include "analysis/index/index.h"
#include "analysis/index/naive_findings_for_test.h"
#include "analysis/index/replay.h"
#include "analysis/index/tape_for_test.h"
#include "analysis/moment/event_search.h"
#include "analysis/moment/heap_cursor.h"

namespace heaptape {
namespace {

using test::NaiveFindings;
using test::NaiveMappings;
using test::wild_events;

Findings replay(const std::vector<Event>& events, ReplayOptions options = {}) {
  options.events = events.size();
  options.end_us = events.back().time_us;
  Replay pass(options);
  // In pieces, as a tape gives them.
  for (std::span<const Event> rest(events); !rest.empty();) {
    const auto run = rest.first(std::min<std::size_t>(rest.size(), 97));
    pass.apply(run);
    rest = rest.subspan(run.size());
  }
  return pass.finish();
}

class NaiveComparison : public testing::TestWithParam<std::uint64_t> {
protected:
  const std::vector<Event> events_ = wild_events(GetParam(), 3000);
  const NaiveFindings naive_{events_};
};
INSTANTIATE_TEST_SUITE_P(Seeds, NaiveComparison, testing::Values(1, 2, 3, 4, 5, 6));

TEST_P(NaiveComparison, TheHistoryIsAsWildAsItShouldBe) {
  const HeapTotals totals = naive_.totals_after(events_.size());
  EXPECT_GT(totals.collisions, 50u);
  EXPECT_GT(totals.unknown_releases, 100u);
  EXPECT_GT(totals.live_blocks, 20u);
  EXPECT_GT(naive_.peak_event(), 100u);
}

TEST_P(NaiveComparison, TotalsAndFiguresByOwnerStackAndThread) {
  for (const std::uint64_t within : {1u, 2u, 7u, 50u}) {
    const std::uint64_t short_us = within * 500;
    const Findings findings = replay(events_, {.temporary_events = within, .short_lived_us = short_us});
    EXPECT_EQ(findings.totals, naive_.totals_after(events_.size()));
    const auto expected = naive_.by_owner(within, short_us);
    ASSERT_EQ(findings.by_owner.size(), expected.size());
    std::map<StackId, Figures> by_stack;
    std::map<ThreadId, Figures> by_thread;
    auto row = findings.by_owner.begin();
    for (const auto& [owner, figures] : expected) {
      EXPECT_EQ(row->owner, owner);
      EXPECT_EQ(static_cast<const Figures&>(*row), figures);
      by_stack[owner.stack] += figures;
      by_thread[owner.thread] += figures;
      ++row;
    }
    ASSERT_EQ(findings.by_stack.size(), by_stack.size());
    for (const StackFigures& stack : findings.by_stack)
      EXPECT_EQ(static_cast<const Figures&>(stack), by_stack[stack.stack]);
    for (const ThreadFigures& thread : findings.by_thread)
      EXPECT_EQ(static_cast<const Figures&>(thread), by_thread[thread.thread]);
  }
}

TEST_P(NaiveComparison, WhatThreadsDid) {
  const Findings findings = replay(events_);
  std::map<ThreadId, ThreadFigures> expected;
  for (const Event& event : events_) {
    ThreadFigures& row = expected[event.thread];
    if (row.events++ == 0) row.first_us = event.time_us;
    row.last_us = event.time_us;
  }
  for (const test::Life& life : naive_.lives())
    if (life.ended != ~std::uint64_t{0} && !life.given_up) expected[life.ended_by].freed_here += life.cost();
  ASSERT_EQ(findings.by_thread.size(), expected.size());
  for (const ThreadFigures& row : findings.by_thread) {
    EXPECT_EQ(row.events, expected[row.thread].events);
    EXPECT_EQ(row.first_us, expected[row.thread].first_us);
    EXPECT_EQ(row.last_us, expected[row.thread].last_us);
    EXPECT_EQ(row.freed_here, expected[row.thread].freed_here);
  }
}

TEST_P(NaiveComparison, Histograms) {
  const Findings findings = replay(events_);
  std::map<int, SizeBucket> sizes;
  std::map<int, LifetimeBucket> lifetimes;
  const auto bucket_of = [](std::uint64_t number) {
    int bucket = 0;
    for (; number != 0; number /= 2) ++bucket;
    return bucket;
  };
  for (const test::Life& life : naive_.lives()) {
    SizeBucket& size = sizes[bucket_of(life.made.size)];
    size.allocated += life.cost();
    if (life.is_live_after(naive_.peak_event())) size.at_peak += life.cost();
    if (life.ended == ~std::uint64_t{0}) {
      size.live += life.cost();
      lifetimes[bucket_of(events_.back().time_us - life.made.time_us)].live += life.cost();
    } else {
      lifetimes[bucket_of(life.ended_us - life.made.time_us)].freed += life.cost();
    }
  }
  for (int i = 0; i < static_cast<int>(kLogBuckets); ++i) {
    EXPECT_EQ(findings.sizes[static_cast<std::size_t>(i)], sizes[i]) << i;
    EXPECT_EQ(findings.lifetimes[static_cast<std::size_t>(i)], lifetimes[i]) << i;
  }
}

TEST_P(NaiveComparison, Timeline) {
  const Findings findings = replay(events_);
  for (const TimelineLevel& level : findings.timeline.levels) {
    for (std::size_t i = 0; i < level.buckets.size(); ++i) {
      const std::uint64_t begin = i * level.bucket_us, end = begin + level.bucket_us;
      std::uint64_t at = 0; // the last event before the bucket
      while (at < events_.size() && events_[at].time_us < begin) ++at;
      TimeBucket expected;
      const auto see = [&](std::uint64_t event, bool first) {
        const std::uint64_t bytes = naive_.live_bytes_after(event), blocks = naive_.live_blocks_after(event);
        expected.min_bytes = first ? bytes : std::min(expected.min_bytes, bytes);
        expected.max_bytes = std::max(expected.max_bytes, bytes);
        expected.min_blocks = first ? blocks : std::min(expected.min_blocks, blocks);
        expected.max_blocks = std::max(expected.max_blocks, blocks);
        expected.last_bytes = bytes;
        expected.last_blocks = blocks;
      };
      see(at, true);
      for (; at < events_.size() && events_[at].time_us < end; ++at) {
        see(at + 1, false);
        ++expected.events;
      }
      for (const test::Life& life : naive_.lives())
        if (life.made.time_us >= begin && life.made.time_us < end) expected.allocated_bytes += life.made.size;
      ASSERT_EQ(level.buckets[i], expected) << i;
    }
  }
}

TEST_P(NaiveComparison, Growth) {
  const Findings findings = replay(events_);
  std::map<StackId, std::array<Cost, kGrowthMoments>> expected;
  for (std::size_t i = 0; i < kGrowthMoments; ++i) {
    EXPECT_EQ(findings.growth.moments_us[i], events_.back().time_us * (i + 1) / kGrowthMoments);
    std::uint64_t last = 0;
    while (last < events_.size() && events_[last].time_us <= findings.growth.moments_us[i]) ++last;
    for (const auto& [owner, cost] : naive_.live_after(last)) expected[owner.stack][i] += cost;
  }
  ASSERT_EQ(findings.growth.stacks.size(), expected.size());
  for (const StackGrowth& row : findings.growth.stacks) EXPECT_EQ(row.live, expected[row.stack]);
}

TEST_P(NaiveComparison, Mappings) {
  const Findings findings = replay(events_);
  NaiveMappings naive;
  MappingFigures anonymous, file;
  std::map<StackId, MappingFigures> by_stack;
  std::uint64_t at_peak = 0;
  for (const Event& event : events_) {
    if (is_mapping(event.kind)) {
      naive.apply(event);
      const NaiveMappings::Open open = naive.open();
      if (event.kind != EventKind::Munmap) by_stack[event.stack].mapped += {(event.size + 4095) / 4096 * 4096, 1};
      anonymous.most_bytes = std::max(anonymous.most_bytes, open.anonymous.bytes);
      file.most_bytes = std::max(file.most_bytes, open.file.bytes);
      for (const auto& [stack, cost] : open.by_stack)
        by_stack[stack].most_bytes = std::max(by_stack[stack].most_bytes, cost.bytes);
    }
    if (event.number == naive_.peak_event()) at_peak = naive.open().anonymous.bytes;
  }
  const NaiveMappings::Open open = naive.open();
  EXPECT_EQ(findings.mappings.anonymous.open, open.anonymous);
  EXPECT_EQ(findings.mappings.file.open, open.file);
  EXPECT_EQ(findings.mappings.anonymous.most_bytes, anonymous.most_bytes);
  EXPECT_EQ(findings.mappings.file.most_bytes, file.most_bytes);
  EXPECT_EQ(findings.mappings.anonymous_at_peak_bytes, at_peak);
  std::map<StackId, Cost> open_by_stack = open.by_stack;
  for (const StackMappings& row : findings.mappings.by_stack) {
    EXPECT_EQ(row.open, open_by_stack[row.stack]);
    EXPECT_EQ(row.mapped, by_stack[row.stack].mapped);
    EXPECT_EQ(row.most_bytes, by_stack[row.stack].most_bytes);
  }
}

TEST_P(NaiveComparison, ThePeakOfHeapAndMappingsAndWhatItConsistedOf) {
  NaiveMappings naive;
  TotalPeak peak;
  NaiveMappings::Open open, open_at_peak;
  for (const Event& event : events_) {
    if (is_mapping(event.kind)) {
      naive.apply(event);
      open = naive.open();
    }
    const std::uint64_t heap = naive_.live_bytes_after(event.number);
    if (heap + open.anonymous.bytes <= peak.bytes) continue;
    peak.bytes = heap + open.anonymous.bytes;
    peak.heap_bytes = heap;
    peak.event = event.number;
    peak.time_us = event.time_us;
    open_at_peak = open;
  }
  for (const auto& [owner, cost] : naive_.live_after(peak.event)) peak.blocks.push_back({owner, cost});
  for (const auto& [stack, cost] : open_at_peak.anonymous_by_stack) peak.mappings.push_back({stack, cost});
  const Findings findings = replay(events_);
  ASSERT_TRUE(findings.total_peak);
  EXPECT_EQ(*findings.total_peak, peak);
}

TEST_P(NaiveComparison, TotalsAreThoseTheCollectorCounts) {
  HeapModel model;
  for (const Event& event : events_) model.apply(event);
  EXPECT_EQ(replay(events_).totals, model.totals());
}

TEST_P(NaiveComparison, EveryMomentAndWindowOfATape) {
  const test::SmallTape file(events_, 30, 64);
  const TapeReader tape = file.open();
  const Index index = build_index(tape, {.events_apart = 200, .sizes_apart = 0});
  ASSERT_GT(index.keyframes.size(), 8u);
  HeapCursor cursor(tape, index);
  std::mt19937_64 random(GetParam());
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t event = random() % (events_.size() + 1);
    cursor.seek_event(event);
    ASSERT_EQ(cursor.event(), event);
    const HeapTotals expected = naive_.totals_after(event);
    EXPECT_EQ(cursor.totals().events, expected.events);
    EXPECT_EQ(cursor.totals().live_bytes, expected.live_bytes);
    EXPECT_EQ(cursor.totals().peak_event, expected.peak_event);
    EXPECT_EQ(cursor.totals().allocated_bytes, expected.allocated_bytes);
    std::map<Owner, Cost> live;
    for (const OwnerCost& row : live_by_owner(cursor.state())) live[row.owner] = row.cost;
    EXPECT_EQ(live, naive_.live_after(event));
  }
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t after = random() % events_.size(), until = after + random() % (events_.size() - after);
    const auto rows = window_figures(tape, index, {after, until});
    const auto expected = naive_.window(after, until);
    ASSERT_EQ(rows.size(), expected.size());
    auto row = rows.begin();
    for (const auto& [owner, figures] : expected) EXPECT_EQ(*row++, figures);
  }
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t time_us = random() % (events_.back().time_us + 10);
    cursor.seek_event(last_event_until(tape, time_us));
    std::uint64_t last = 0;
    while (last < events_.size() && events_[last].time_us <= time_us) ++last;
    EXPECT_EQ(cursor.event(), last) << time_us;
  }
}

TEST_P(NaiveComparison, EveryLiveBlockIsFoundByItsAddressesAfterASeek) {
  const test::SmallTape file(events_, 30, 64);
  const TapeReader tape = file.open();
  const Index index = build_index(tape, {.events_apart = 500, .sizes_apart = 0});
  HeapCursor cursor(tape, index);
  for (const std::uint64_t event : {2900u, 700u, 1500u}) {
    cursor.seek_event(event);
    std::uint64_t live = 0;
    for (const test::Life& life : naive_.lives()) {
      if (!life.is_live_after(event)) continue;
      ++live;
      const auto block = cursor.find(life.made.address);
      ASSERT_TRUE(block.has_value());
      EXPECT_EQ(block->size, life.made.size);
      EXPECT_EQ(block->event, life.made.number);
      EXPECT_EQ(block->time_us, life.made.time_us);
      EXPECT_EQ(cursor.owner_of(*block), life.owner());
      EXPECT_EQ(cursor.find_around(life.made.address), block);
    }
    EXPECT_EQ(cursor.state().blocks().size(), live);
  }
}

} // namespace
} // namespace heaptape
