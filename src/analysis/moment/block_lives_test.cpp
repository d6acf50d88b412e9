#include "analysis/moment/block_lives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "analysis/index/tape_for_test.h"
#include "tape/random_events.h"

namespace heaptape {
namespace {

// The plainest way to the same list: an ordered map from addresses to blocks.
std::vector<BlockLife> naive_lives(const std::vector<Event>& events) {
  std::map<std::uint64_t, BlockLife> live;
  std::map<ThreadId, std::uint64_t> last;
  std::vector<BlockLife> lives;
  const auto end = [&](BlockLife life, const Event& event, bool released) {
    life.freed = true;
    life.temporary = released && life.owner.thread == event.thread && last[event.thread] == life.block.event;
    life.freed_event = event.number;
    life.freed_us = event.time_us;
    life.freed_thread = event.thread;
    life.freed_stack = event.stack;
    lives.push_back(life);
  };
  for (const Event& event : events) {
    const bool replaces = is_reallocation(event.kind) && !event.old_released;
    const std::uint64_t ends = is_release(event.kind) ? event.address : replaces ? event.old_address : 0;
    std::optional<BlockLife> ended;
    if (const auto found = live.find(ends); ends != 0 && found != live.end()) {
      ended = found->second;
      live.erase(found);
    }
    if (event.address != 0 && (is_allocation(event.kind) || is_reallocation(event.kind))) {
      if (const auto found = live.find(event.address); found != live.end()) end(found->second, event, false);
      live[event.address] = {.block = {event.address, event.size, event.number, event.time_us},
                             .owner = {event.stack, event.thread},
                             .kind = event.kind};
    }
    if (ended) end(*ended, event, true);
    if (!is_pool(event.kind)) last[event.thread] = event.number;
  }
  std::vector<BlockLife> rest;
  for (const auto& [address, life] : live) rest.push_back(life);
  std::sort(rest.begin(), rest.end(), [](const auto& a, const auto& b) { return a.block.event < b.block.event; });
  lives.insert(lives.end(), rest.begin(), rest.end());
  return lives;
}

std::vector<BlockLife> all(const TapeReader& tape, const BlockLivesOptions& options) {
  BlockLives lives(tape, options);
  std::vector<BlockLife> list;
  while (const BlockLife* life = lives.next()) {
    list.push_back(*life);
    list.back().block.owner = 0; // numbers of owners are nobody's business
  }
  return list;
}

std::vector<Event> random_events(std::uint64_t seed, std::size_t count) {
  std::vector<Event> events;
  for (const test::KnownEvent& known : test::EventMaker(seed).take(count)) {
    events.push_back(known.event);
    if (events.back().stack.value >= 200) events.back().stack = StackId(); // as a tape without it reads
  }
  return events;
}

TEST(BlockLives, AreThoseOfAMapFromAddressesToBlocks) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const std::vector<Event> events = random_events(seed, 5000);
    const test::SmallTape file(events, 200, 700);
    EXPECT_EQ(all(file.open(), {.kinds = true}), naive_lives(events));
  }
}

TEST(BlockLives, OnlyBlocksThatWereMadeInAStretch) {
  const std::vector<Event> events = random_events(7, 4000);
  const test::SmallTape file(events, 200, 300);
  const TapeReader tape = file.open();
  struct Stretch {
    std::uint64_t first, last;
  };
  for (const Stretch made : {Stretch{1, 100}, Stretch{1500, 1700}, Stretch{3990, 9999}, Stretch{5, 5}}) {
    std::vector<BlockLife> expected = naive_lives(events);
    std::erase_if(expected,
                  [&](const BlockLife& life) { return life.block.event < made.first || life.block.event > made.last; });
    EXPECT_EQ(all(tape, {.kinds = true, .first_made = made.first, .last_made = made.last}), expected);
  }
}

TEST(BlockLives, TapeMaySeemToEndEarlier) {
  const std::vector<Event> events = random_events(9, 3000);
  const test::SmallTape file(events, 200, 300);
  const std::vector<Event> beginning(events.begin(), events.begin() + 1234);
  EXPECT_EQ(all(file.open(), {.kinds = true, .until = 1234}), naive_lives(beginning));
}

} // namespace
} // namespace heaptape
