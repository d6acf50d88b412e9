// Who holds the heap right now, by call stack: live, ever allocated and freed, and both since the last look, in bytes
// and blocks. Needs memory for the live blocks and for each stack that ever made one, whatever the number of events.
// One thread at a time.
//
// The figures are those of docs/definitions.md: a block belongs to the stack that made it, a realloc frees the old
// block and makes the new one, so that live = allocated - freed holds for every stack and for the sum, after every
// event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/heap/cost.h"
#include "analysis/heap/live_map.h"
#include "base/ids.h"
#include "tape/event.h"
#include "wire/event_kind.h"

namespace heaptape {

// What a stack made, and what became of it.
struct StackTally {
  StackId stack{};
  Cost allocated{};
  Cost freed{};

  Cost live() const { return allocated - freed; }
  friend bool operator==(const StackTally&, const StackTally&) = default;
};

class LiveHeap {
public:
  // Starts loading what apply() will need for this event.
  [[gnu::always_inline]] void prefetch(const Event& event) const { live_.prefetch(event.address); }
  // Takes the next event in. Its stack must be a good id: there is a number per stack up to the largest.
  void apply(const Event& event);

  // Over all stacks.
  const Cost& allocated() const { return allocated_; }
  const Cost& freed() const { return freed_; }
  Cost live() const { return allocated_ - freed_; }
  std::uint64_t peak_bytes() const { return peak_bytes_; }
  std::uint64_t events() const { return events_; }
  // Bytes allocated and freed since take_changes() was called last.
  std::uint64_t churn_bytes() const { return churn_bytes_; }

  // What changed since the last call, in the order it began to: per stack only what came in between.
  std::vector<StackTally> take_changes();

  // All stacks that ever made a block, in the order of their first; a stack keeps its place.
  const std::vector<StackTally>& tallies() const { return tallies_; }
  // The `most` with the largest live bytes, the largest first; equal ones by age.
  std::vector<StackTally> largest(std::size_t most) const;

private:
  [[gnu::always_inline]] std::uint32_t place_of(StackId stack) {
    if (stack.value < places_.size()) [[likely]] {
      if (const std::uint32_t place = places_[stack.value]; place != 0) [[likely]]
        return place - 1;
    }
    return add_place(stack);
  }
  std::uint32_t add_place(StackId stack);
  [[gnu::always_inline]] StackTally& changing(std::uint32_t place) {
    if (is_changed_[place] == 0) {
      is_changed_[place] = 1;
      changed_.push_back({place, tallies_[place].allocated, tallies_[place].freed});
    }
    return tallies_[place];
  }
  void make(std::uint64_t address, std::uint64_t size, StackId stack);
  void end(const LiveBlock& block);
  void note_peak() {
    const std::uint64_t live = allocated_.bytes - freed_.bytes;
    if (live > peak_bytes_) peak_bytes_ = live;
  }

  struct Changed {
    std::uint32_t place;
    Cost allocated, freed; // before
  };

  LiveMap live_;                      // whose "event" is the place of the block's stack
  std::vector<std::uint32_t> places_; // 1 + place in tallies_, by stack; 0: none yet
  std::vector<StackTally> tallies_;
  std::vector<std::uint8_t> is_changed_; // by place
  std::vector<Changed> changed_;
  Cost allocated_, freed_;
  std::uint64_t peak_bytes_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t churn_bytes_ = 0;
};

} // namespace heaptape
