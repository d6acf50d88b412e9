// The one pass over a tape: events in, Findings out. Needs memory for the live blocks and for each pair of stack and thread that
// made any, whatever the number of events. One thread at a time.
//
// The composition of the peak (what each owner had live when the most was live) comes from the same pass, without a copy of all rows
// at every new peak. A program that grows has a new peak with almost every allocation, and which of them is the highest is known only
// at the end.
//
//   known     epoch_, which is one more after every new peak. In each row what is live now, and `saved_at_peak` with the epoch in
//             which it was saved.
//   checked   before a row changes: was it saved in this epoch? If not, it has not changed since the peak that began the epoch, so
//             what is live now was live at that peak. It is saved.
//   right     At the end a row that was saved in the last epoch has changed since the peak and says what it had then. Any other has
//             not changed since, and has it still. A peak is noted after all changes of its event, so that no row ever saves
//             half a realloc.
//
// Five events of two owners A and B, who have rows of live bytes; "10 (0 in 1)" has 10 live, and saved 0 in epoch 1:
//
//   event              live   epoch_   row A            row B
//   1  A makes 10        10   1 -> 2   10 ( 0 in 1)      0                 the first peak
//   2  B makes 20        30   2 -> 3   10 ( 0 in 1)     20 ( 0 in 2)       a new peak; A is not touched
//   3  A frees 10        20   3         0 (10 in 3)     20 ( 0 in 2)       A's first change since: saves its 10
//   4  A makes 5         25   3         5 (10 in 3)     20 ( 0 in 2)       saved already
//   5  B makes 30        55   3 -> 4    5 (10 in 3)     50 (20 in 3)       B saves its 20; then a new peak
//
// After event 4 the peak was 30 in epoch 3: A's 10, saved in epoch 3, and B's 20, not saved in 3 and so still there. After event 5 it
// is 55 in epoch 4, in which nothing was saved: 5 and 50, as they are. The cost is one comparison for each change of a row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "analysis/heap/growing_array.h"
#include "analysis/heap/heap_state.h"
#include "analysis/index/findings.h"
#include "analysis/index/recent_blocks.h"
#include "analysis/index/timeline_builder.h"
#include "analysis/index/total_peak.h"
#include "tape/event.h"
#include "tape/reader.h"

namespace heaptape {

struct ReplayOptions {
  // Of the whole run; both only shape the timeline and the moments of growth.
  std::uint64_t end_us = 0; // its end, which may be later than the last event
  std::uint64_t events = 0;
  // A block is temporary when the thread that made it releases it within this many of its next events.
  std::uint64_t temporary_events = 1;
  // A block is short-lived when it is freed after no more than this.
  std::uint64_t short_lived_us = 1000;
  // Whether an allocator made the mappings of this stack; empty: none does.
  std::function<bool(StackId)> is_allocators{};
};

// With the length of this tape, for a pass over all its events; the tape must outlive them.
ReplayOptions options_for(const TapeReader& tape);

class Replay {
public:
  explicit Replay(const ReplayOptions& options);

  // The next events.
  void apply(std::span<const Event> events);

  const HeapState& state() const { return state_; }
  // Of all events so far; call it once, at the end.
  Findings finish();

private:
  // What happened to a set of blocks, and what of it was live at the peak.
  struct Tally {
    Cost allocated;
    Cost freed;
    Cost saved_at_peak; // when epoch is that of the peak; else nothing has changed since
    std::uint64_t epoch = 0;

    Cost live() const { return allocated - freed; }
    Cost at_peak(std::uint64_t now) const { return epoch == now ? saved_at_peak : live(); }
    [[gnu::always_inline]] void before_change(std::uint64_t now) {
      if (epoch == now) return;
      epoch = now;
      saved_at_peak = live();
    }
  };
  struct alignas(64) OwnerRow : Tally {
    Owner owner;
    Cost temporary;
    Cost short_lived;
    Cost regrown;
    std::uint64_t lifetime_us = 0;
    std::uint64_t largest = 0;

    OwnerFigures figures(std::uint64_t last_epoch) const {
      return {{.allocated = allocated,
               .freed = freed,
               .at_peak = at_peak(last_epoch),
               .temporary = temporary,
               .short_lived = short_lived,
               .regrown = regrown,
               .lifetime_us = lifetime_us,
               .largest = largest},
              owner};
    }
  };
  struct ThreadRow {
    ThreadFigures figures;
    std::uint64_t last_event = 0;
    RecentBlocks blocks;               // that it made last
    std::vector<std::uint64_t> recent; // numbers of its last events, when more than one matters
    std::size_t oldest = 0;            // in recent
  };
  template <bool WithMappings>
  struct Listener;

  // Applies events until there is a reason to go on in another way; gives how many.
  template <bool LookAhead, bool WithMappings>
  std::size_t apply_some(std::span<const Event> events);
  void start_total_peak();
  ThreadRow& row_of(ThreadId thread);
  void change_thread(const Event& event);
  void leave_thread();
  std::uint64_t earliest_recent(const ThreadRow& thread) const;
  void remember(ThreadRow& thread, std::uint64_t event) const;
  // What is due before an event of this time.
  void tick(std::uint64_t time_us);
  void take_growth();
  std::vector<OwnerFigures> finish_owners();
  MappingFindings finish_mappings();
  std::vector<StackGrowth> finish_growth();
  void add_row();

  ReplayOptions options_;
  HeapState state_;
  std::uint64_t epoch_ = 1;     // one more with every new peak
  GrowingArray<OwnerRow> rows_; // by number of the owner
  std::vector<ThreadRow> threads_;
  std::vector<std::uint32_t> thread_places_;                      // 1 + place in threads_, by id; 0: none yet
  std::unordered_map<ThreadId, std::uint32_t> far_thread_places_; // of ids too large for that
  ThreadRow* thread_ = nullptr;                                   // of the event being applied
  std::uint64_t thread_since_ = 0;                                // events before those that its row lacks
  std::array<Tally, kLogBuckets> sizes_{};
  LifetimeHistogram lifetimes_{};
  MappingFindings mappings_;
  std::unordered_map<StackId, MappingFigures> mappings_by_stack_;
  TotalPeakFinder total_peak_;
  TimelineBuilder timeline_;
  std::array<std::uint64_t, kGrowthMoments> moments_us_{};
  std::vector<std::byte> growth_bytes_; // for each moment: owners with anything live, and how much
  std::size_t next_growth_ = 0;
  std::uint64_t next_tick_us_ = 0;
};

} // namespace heaptape
