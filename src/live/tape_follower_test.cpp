#include "live/tape_follower.h"

#include <gtest/gtest.h>

#include "live/live_view.h"
#include "tape/sample_tape.h"

namespace heaptape {
namespace {

// Keeps what it is told.
class Notes final : public EventWatcher {
public:
  void on_modules(std::span<const Module> added) override { modules += added.size(); }
  void on_stacks(StackId first, std::span<const StackNode> added) override {
    EXPECT_EQ(first.value, stacks.size());
    stacks.insert(stacks.end(), added.begin(), added.end());
  }
  void on_events(std::span<const Event> added) override { events.insert(events.end(), added.begin(), added.end()); }
  void on_mark(const Mark&) override {}
  WatcherWish on_round(std::uint64_t) override { return {}; }
  void on_end(const Summary&) override {}
  void on_nothing() override {}

  std::size_t modules = 0;
  std::vector<StackNode> stacks = std::vector<StackNode>(1);
  std::vector<Event> events;
};

TEST(TapeFollower, ATapeThatGrowsByteByByteIsReadOnce) {
  const SampleTape sample(3000);
  const std::vector<std::byte> whole = sample.bytes(200);
  std::vector<std::byte> file(whole.begin(), whole.begin() + 64);
  Result<TapeFollower> follower = TapeFollower::from_bytes(file);
  ASSERT_TRUE(follower.ok());
  Notes notes;
  std::size_t step = 1;
  while (file.size() < whole.size()) {
    const std::size_t more = std::min(step++ % 977, whole.size() - file.size());
    const auto from = whole.begin() + static_cast<std::ptrdiff_t>(file.size());
    file.insert(file.end(), from, from + static_cast<std::ptrdiff_t>(more));
    follower.value().poll(notes);
  }
  EXPECT_EQ(notes.events, sample.events);
  EXPECT_EQ(notes.stacks.size(), sample.stacks.size() + 1);
  EXPECT_EQ(notes.modules, sample.modules.size());
  EXPECT_EQ(follower.value().damaged_blocks(), 0u);
  EXPECT_EQ(follower.value().meta(), sample.meta);
  EXPECT_TRUE(follower.value().summary().has_value());
}

TEST(TapeFollower, ReadsNoMoreAtOnceThanWanted) {
  const SampleTape sample(3000);
  const std::vector<std::byte> whole = sample.bytes(200);
  Result<TapeFollower> follower = TapeFollower::from_bytes(whole);
  Notes notes;
  EXPECT_TRUE(follower.value().poll(notes, 1));
  EXPECT_LT(notes.events.size(), sample.events.size());
  while (follower.value().poll(notes, 1)) {}
  EXPECT_EQ(notes.events.size(), sample.events.size());
}

TEST(TapeFollower, DamageIsSteppedOver) {
  const SampleTape sample(3000);
  std::vector<std::byte> file = sample.bytes(200);
  for (std::size_t i = 100; i < 120; ++i) file[i] ^= std::byte{0xff};
  Result<TapeFollower> follower = TapeFollower::from_bytes(file);
  Notes notes;
  follower.value().poll(notes);
  EXPECT_GT(follower.value().damaged_blocks(), 0u);
  EXPECT_FALSE(notes.events.empty());
}

TEST(TapeFollower, WhatIsNoTapeIsRefused) {
  EXPECT_FALSE(TapeFollower::from_bytes(std::vector<std::byte>(10)).ok());
  EXPECT_FALSE(TapeFollower::from_bytes(std::vector<std::byte>(1000)).ok());
  EXPECT_FALSE(TapeFollower::open("/nowhere/at/all.tape").ok());
}

TEST(TapeFollower, TheHeapIsThatOfTheWholeTape) {
  const SampleTape sample(3000);
  const std::vector<std::byte> whole = sample.bytes(200);
  Result<TapeFollower> follower = TapeFollower::from_bytes(whole);
  LiveView view(false);
  follower.value().poll(view);
  LiveHeap heap;
  for (const Event& event : sample.events) heap.apply(event);
  EXPECT_EQ(view.heap().live(), heap.live());
  EXPECT_EQ(view.heap().tallies(), heap.tallies());
}

} // namespace
} // namespace heaptape
