// The heap at any moment of a tape: jumps to an event by loading the keyframe before it and replaying the few events
// from there, then goes on event by event. The tape and the index must outlive it. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/heap/heap_state.h"
#include "analysis/index/index.h"
#include "tape/reader.h"

namespace heaptape {

class HeapCursor {
public:
  // Stands before the first event.
  HeapCursor(const TapeReader& tape, const Index& index);

  // Goes to the moment after the event with this number, or after the last one before it; 0 is before the first event.
  void seek_event(std::uint64_t number);
  // Applies the next event and gives it; nullptr at the end. Valid until the next call.
  const Event* step();

  // Number and time of the last event applied; 0 before the first.
  std::uint64_t event() const { return state_.event(); }
  std::uint64_t time_us() const { return state_.time_us(); }

  const HeapState& state() const { return state_; }
  // Moves the state out, for a caller that continues the replay itself; the cursor then stands before the first event.
  HeapState take_state();
  const HeapTotals& totals() const { return state_.totals(); }
  Owner owner_of(const Block& block) const { return state_.owners()[block.owner]; }

  // The live block that begins at this address.
  std::optional<Block> find(std::uint64_t address) const { return state_.blocks().find(address); }
  // The live block that holds this address. The first call after a move takes time: it sorts the live blocks.
  std::optional<Block> find_around(std::uint64_t address);
  // The nearest live blocks that begin before and behind this address. As find_around().
  std::optional<Block> block_before(std::uint64_t address);
  std::optional<Block> block_after(std::uint64_t address);
  // All live blocks by address; valid until the cursor moves. The first call after a move takes time.
  const std::vector<Block>& blocks_by_address();

  // Chunks of events that could not be read between the last keyframe and here; then the state is not the whole truth.
  std::vector<Damage> damage() const;

private:
  // The state at the last keyframe up to this event, unless the cursor is nearer to it already.
  void approach(std::uint64_t number);
  // Replays the events up to this one, which is far away, while another thread decodes them.
  void replay_far(std::uint64_t number);
  void apply(std::span<const Event> events);
  // The first block that begins behind this address.
  std::vector<Block>::const_iterator first_behind(std::uint64_t address);

  const TapeReader& tape_;
  const Index& index_;
  HeapState state_;
  EventCursor events_;             // behind the state
  std::vector<Damage> far_damage_; // found by replay_far(); some of it events_ may find again
  std::vector<Block> by_address_;  // when sorted_
  bool sorted_ = false;
};

} // namespace heaptape
