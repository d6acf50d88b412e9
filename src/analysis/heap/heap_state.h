// The heap at one moment, with all that is known of its blocks, and the program's mappings: what a replay carries along, what a keyframe
// holds, what a cursor shows. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "analysis/heap/block_map.h"
#include "analysis/heap/heap_ledger.h"
#include "analysis/heap/mapping_set.h"
#include "analysis/heap/owner_table.h"
#include "tape/event.h"

namespace heaptape {

// What a listener of HeapState::apply() may leave out by deriving from this.
struct HeapListener : BlockListener {
  void opened(const MappingPiece&, bool) {} // see MappingSet
  void closed(const MappingPiece&) {}
};

class HeapState {
public:
  // How far ahead of the event being applied a replay should prefetch(): far enough for a load from memory, near enough for the three
  // cache lines of each event to stay in the first cache.
  static constexpr std::size_t kAhead = 24;

  // Starts loading what apply() will need for this event.
  [[gnu::always_inline]] void prefetch(const Event& event) const {
    blocks().prefetch(event.address);
    owners().prefetch({event.stack, event.thread});
  }

  // Takes the next event in and tells `listener` what changed.
  template <class Listener>
  [[gnu::always_inline]] void apply(const Event& event, Listener& listener) {
    if (!ledger_.apply(event, listener) && is_mapping(event.kind)) [[unlikely]] {
      if (!mappings_.apply(event, listener)) ++unknown_unmaps_;
    }
    event_ = event.number;
    time_us_ = event.time_us;
  }
  void apply(const Event& event) {
    HeapListener nobody;
    apply(event, nobody);
  }

  const HeapTotals& totals() const { return ledger_.totals(); }
  const BlockMap& blocks() const { return ledger_.store().blocks; }
  const OwnerTable& owners() const { return ledger_.store().owners; }
  const MappingSet& mappings() const { return mappings_; }
  std::uint64_t unknown_unmaps() const { return unknown_unmaps_; }
  std::uint64_t event() const { return event_; } // number of the last event
  std::uint64_t time_us() const { return time_us_; }

private:
  friend class KeyframeCodec;

  struct OwnedBlocks {
    using Block = heaptape::Block;
    BlockMap blocks;
    OwnerTable owners;

    [[gnu::always_inline]] Block block_of(const Event& event) {
      return {event.address, event.size, event.number, event.time_us, owners.number_of({event.stack, event.thread})};
    }
    [[gnu::always_inline]] bool insert(std::uint64_t, const Block& block) { return blocks.insert(block); }
    [[gnu::always_inline]] bool take(std::uint64_t address, Block& block) { return blocks.take(address, block); }
  };

  HeapLedger<OwnedBlocks> ledger_;
  MappingSet mappings_;
  std::uint64_t unknown_unmaps_ = 0;
  std::uint64_t event_ = 0;
  std::uint64_t time_us_ = 0;
};

} // namespace heaptape
