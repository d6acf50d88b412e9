// Real threads hand blocks to each other at full speed while the collector drains: run it under ThreadSanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "analysis/moment/replay_check.h"
#include "collector/recording/fake_program.h"

namespace heaptape {
namespace {

// Gives out the address that came back last, so that it changes hands as quickly as it can.
class FakeHeap {
public:
  std::uint64_t get() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return next_ += 128;
    const std::uint64_t address = free_.back();
    free_.pop_back();
    return address;
  }
  void give_back(std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    free_.push_back(address);
  }

private:
  std::mutex mutex_;
  std::vector<std::uint64_t> free_;
  std::uint64_t next_ = 0x7f00'0000'0000;
};

// One thread of the program, with the protocol of a hook around every call.
class HookedThread {
public:
  HookedThread(FakeProgram& program, std::uint32_t slot, FakeHeap& heap)
      : program_(program), heap_(heap), thread_(program, slot, 100 + slot, program.now()) {}

  std::uint64_t malloc() {
    const std::uint64_t address = heap_.get();
    hook(EventKind::Malloc, address, 64);
    return address;
  }
  void free(std::uint64_t address) {
    hook(EventKind::Free, address, 0);
    heap_.give_back(address);
  }
  std::uint64_t realloc(std::uint64_t old) {
    hook(EventKind::ReallocBegin, old, 0);
    const std::uint64_t address = heap_.get();
    heap_.give_back(old);
    hook(EventKind::Realloc, address, 128);
    return address;
  }
  void exit() { thread_.exit(); }

private:
  void hook(EventKind kind, std::uint64_t address, std::uint64_t size) {
    while (!thread_.has_room()) std::this_thread::yield();
    thread_.slot.busy.store(1, std::memory_order_seq_cst);
    thread_.put(kind, program_.now(), address, size);
    thread_.slot.busy.store(0, std::memory_order_release);
  }

  FakeProgram& program_;
  FakeHeap& heap_;
  FakeThread thread_;
};

struct CheckingSink {
  void add(const Event& event, std::uint64_t) {
    check.add(event);
    went_back += event.time_us < last_us ? 1 : 0;
    last_us = event.time_us;
  }
  ReplayCheck check;
  std::uint64_t last_us = 0;
  std::uint64_t went_back = 0;
};

TEST(Handover, NoAddressIsEverLiveTwice) {
  constexpr std::uint32_t kThreads = 4;
  constexpr int kSteps = 30'000;
  FakeProgram program(16, 1024);
  FakeHeap heap;
  std::vector<std::atomic<std::uint64_t>> boxes(8);
  std::atomic<std::uint64_t> events{0};
  std::atomic<std::uint32_t> running{kThreads};
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      HookedThread thread(program, i, heap);
      std::uint64_t random = i + 1, made = 0;
      for (int step = 0; step < kSteps; ++step) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        std::uint64_t block = thread.malloc();
        made += 1;
        if ((random >> 60) == 0) {
          block = thread.realloc(block);
          made += 1;
        }
        block = boxes[random >> 33 & 7].exchange(block);
        if (block == 0) continue;
        thread.free(block); // made by whichever thread was here before
        made += 1;
      }
      thread.exit();
      events += made;
      running -= 1;
    });
  }

  TickClock clock;
  clock.start(false, {program.header.clock_base_ticks, program.header.clock_base_monotonic_ns}, 0);
  ThreadList thread_list;
  StackFolder stacks(program.memory.nodes(), program.memory.config().node_capacity);
  CheckingSink sink;
  RingSet rings(program.memory, thread_list);
  EventBuilder<CheckingSink> builder(clock, stacks, rings, sink);
  while (running != 0) {
    if (rings.round(clock, builder).read == 0) std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  rings.finish(builder);

  const HeapTotals& totals = builder.model().totals();
  const std::uint64_t releases = totals.per_kind[static_cast<std::size_t>(EventKind::ReallocRelease)];
  EXPECT_EQ(builder.events() - releases, events.load());
  EXPECT_EQ(sink.check.fault_count(), 0u);
  EXPECT_EQ(totals.collisions, 0u);
  EXPECT_EQ(totals.unknown_releases, 0u);
  EXPECT_EQ(sink.went_back, 0u);
  EXPECT_EQ(rings.holes(), 0u);
  EXPECT_EQ(thread_list.count(), kThreads);
}

} // namespace
} // namespace heaptape
