// Turns the merged stream of ring items into numbered events: pairs the two halves of realloc and mremap, keeps the
// model of the heap, folds stacks, and puts events back in order where the stamps of two threads disagree. Sink is any
// class with `void add(const Event&, std::uint64_t allocated_at)`; who makes a builder for one includes event_builder_impl.h.
// One thread at a time.
//
// Repairs, each only when the model shows that the order is impossible:
//  - an allocation gets an address whose realloc is still under way elsewhere: a ReallocRelease goes in front of it;
//  - an allocation gets an address that is live, and its release by another thread is stamped a little later: the
//    release goes in front;
//  - a release names an unknown address that another thread's allocation, stamped a little later, returns: the
//    allocation goes in front. (The processor may read the clock for a release before the pointer has arrived.)
//  - a release names a block whose realloc is still under way elsewhere, and that realloc, stamped a little later, ends
//    with the block where it was: its end goes in front.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/heap/heap_model.h"
#include "collector/events/answer_desk.h"
#include "collector/events/begun_calls.h"
#include "collector/events/cpu_collector.h"
#include "collector/events/crash_collector.h"
#include "collector/events/error_collector.h"
#include "collector/events/mark_collector.h"
#include "collector/events/odd_collector.h"
#include "collector/events/paused_blocks.h"
#include "collector/events/pool_collector.h"
#include "collector/events/stack_folder.h"
#include "collector/rings/ring_set.h"
#include "collector/rings/tick_clock.h"
#include "tape/event.h"
#include "tape/inherited.h"

namespace heaptape {

struct RepairWindows {
  std::uint64_t late_release_us = 50;
  std::uint64_t early_release_us = 5;
};

// What does not depend on where the events go.
class EventBuilderBase : public ItemConsumer {
public:
  explicit EventBuilderBase(const StackFolder& stacks) : pools_(stacks) {}
  EventBuilderBase(const EventBuilderBase&) = delete;
  EventBuilderBase& operator=(const EventBuilderBase&) = delete;
  virtual ~EventBuilderBase() = default;

  const HeapModel& model() const { return model_; }
  std::uint64_t events() const { return count_; }
  MarkCollector& marks() { return marks_; }
  const MarkCollector& marks() const { return marks_; }
  // Who answers questions; it must outlive the builder. Without one they stay unanswered.
  void answer_at(AnswerDesk& desk) { desk_ = &desk; }
  // Blocks made while the recording was paused, so far.
  std::uint64_t paused_blocks() const { return paused_.made(); }
  CpuCollector& cpu() { return cpu_; }
  const CpuCollector& cpu() const { return cpu_; }
  PoolCollector& pools() { return pools_; }
  std::vector<ForkMade>& forks() { return forks_; } // not yet written
  OddCollector& odd_calls() { return odd_; }
  const OddCollector& odd_calls() const { return odd_; }
  ErrorCollector& memory_errors() { return errors_; }
  const ErrorCollector& memory_errors() const { return errors_; }
  CrashCollector& crashes() { return crashes_; }
  // After the last item: calls that never returned.
  virtual void finish() = 0;
  std::uint64_t reordered() const { return reordered_; }
  // Records that make no sense: unknown kinds, allocations at address 0.
  std::uint64_t damaged() const { return damaged_; }

  // Reallocs and mremaps whose end has not come yet.
  const BegunCalls& begun() const { return begun_; }

protected:
  BegunCalls begun_; // signal handlers may begin more of them inside others
  HeapModel model_;
  MarkCollector marks_;
  AnswerDesk* desk_ = nullptr;
  PausedBlocks paused_;
  CpuCollector cpu_;
  PoolCollector pools_;
  std::vector<ForkMade> forks_;
  OddCollector odd_;
  ErrorCollector errors_;
  CrashCollector crashes_;
  std::uint64_t count_ = 0;
  std::uint64_t reordered_ = 0;
  std::uint64_t damaged_ = 0;
};

template <class Sink>
class EventBuilder final : public EventBuilderBase {
public:
  // `rings` is where items that come later wait. All must outlive the builder.
  EventBuilder(TickClock& clock, StackFolder& stacks, RingSet& rings, Sink& sink)
      : EventBuilderBase(stacks), clock_(clock), stacks_(stacks), rings_(rings), sink_(sink) {}

  void consume(std::span<RingItem> items) override;
  void finish() override;

private:
  static constexpr unsigned kMostRepairs = 64; // inside each other, each on the collector's stack
  // In word0 of the copy of a ReallocBegin, where items have no use for it: its block has already ended.
  static constexpr std::uint64_t kReleasedBit = wire::kPhaseBit;

  void take_in(const RingItem& item);
  void take_in_release(const RingItem& item);
  void take_in_other(const RingItem& item);
  bool release_unknown(Event& event, const RingItem& item, EndedBlock& ended);
  void add_paused(const RingItem& item);
  void finish_paused_realloc(const RingItem& item);
  void make_room_among_paused(const RingItem& item);
  void add_mark(const RingItem& item);
  void begin(const RingItem& item);
  void end_realloc_in_place(const RingItem& release);
  void finish_realloc(const RingItem& item);
  void finish_mremap(const RingItem& item);
  void take_in_pool(const RingItem& item);
  void note_odd(OddKind kind, const Event& event, std::uint64_t size, const EndedBlock& ended);
  void note_failed(const RingItem& item);
  void note_memory_error(const RingItem& item);
  void note_crash(const RingItem& item);
  void check_pair(const Event& event, std::uint64_t given_size, const EndedBlock& ended);
  void emit(Event& event, std::uint32_t slot, std::uint64_t time);
  void put_in_front(Event release, Event& of);
  void make_room(Event& event, std::uint32_t slot, std::uint64_t time);
  void take_in_early(RingItem& item, std::uint64_t time);
  void look_for_maker(const RingItem& release);
  Event event_of(const RingItem& item, std::uint64_t size);

  template <class Matches>
  RingItem* find_ahead(std::uint64_t until, Matches&& matches) {
    RingItem* const end = rest_ + std::min<std::ptrdiff_t>(rest_end_ - rest_, RingSet::kMostLookedAt);
    for (RingItem* item = rest_; item != end; ++item) {
      if (item->time() > until) return nullptr;
      if (matches(*item)) return item;
    }
    return rings_.find_ahead(until, matches);
  }

  TickClock& clock_;
  StackFolder& stacks_;
  RingSet& rings_;
  Sink& sink_;
  RepairWindows windows_;
  RingItem* rest_ = nullptr; // of the batch at hand: what comes after the current item
  RingItem* rest_end_ = nullptr;
  unsigned repairs_ = 0;     // under way: one may need another
  BegunCall failed_realloc_; // the last one
};

} // namespace heaptape
