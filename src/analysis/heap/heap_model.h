// The heap as the collector follows it while it records: of each live block the size, and the event that made it, which the tape names in
// the event that ends it. Checks of tapes use it too. One thread at a time.
#pragma once

#include <cstdint>

#include "analysis/heap/heap_ledger.h"
#include "analysis/heap/live_map.h"

namespace heaptape {

class HeapModel {
public:
  const HeapTotals& totals() const { return ledger_.totals(); }
  const LiveMap& live() const { return ledger_.store().live; }
  bool is_live(std::uint64_t address) const { return live().find(address).has_value(); }

  // Starts loading what apply() will need for an event at this address.
  [[gnu::always_inline]] void prefetch(std::uint64_t address) const { live().prefetch(address); }

  // Takes the next event in. The result is the number of the event that made the block which this one releases or replaces;
  // 0: none, or unknown.
  std::uint64_t apply(const Event& event) {
    return apply(event, [](const Event&) {});
  }

  // As above. When the event makes a block at an address that is live, calls on_collision(event) first; that may apply other
  // events (a late release of the address, say) and may change the event's number. Whatever block is still there
  // afterwards is given up.
  template <class AnyEvent, class OnCollision>
  std::uint64_t apply(AnyEvent& event, OnCollision&& on_collision) {
    Listener listener(on_collision);
    ledger_.apply(event, listener);
    return listener.allocated_at;
  }

  // apply() for an event that is known to be an allocation, address not 0.
  template <class OnCollision>
  [[gnu::always_inline]] void allocate(Event& event, OnCollision&& on_collision) {
    Listener listener(on_collision);
    ledger_.allocate(event, listener);
  }

  // apply() for a release, if its block is live; else false, and nothing changes.
  [[gnu::always_inline]] bool try_release(const Event& event, std::uint64_t& allocated_at) {
    const auto nothing = [](const Event&) {};
    Listener listener(nothing);
    if (!ledger_.try_release(event, listener)) [[unlikely]]
      return false;
    allocated_at = listener.allocated_at;
    return true;
  }

private:
  struct NumberedBlocks {
    using Block = LiveBlock;
    LiveMap live;

    static Block block_of(const Event& event) { return {event.size, event.number}; }
    [[gnu::always_inline]] bool insert(std::uint64_t address, Block block) { return live.insert(address, block); }
    [[gnu::always_inline]] bool take(std::uint64_t address, Block& block) { return live.take(address, block); }
  };
  template <class OnCollision>
  struct Listener : BlockListener {
    OnCollision& on_collision;
    std::uint64_t allocated_at = 0;

    explicit Listener(OnCollision& handler) : on_collision(handler) {}
    void collides(auto& event) { on_collision(event); }
    void ended(const LiveBlock& block, const Event&) { allocated_at = block.allocated_at; }
  };

  HeapLedger<NumberedBlocks> ledger_;
};

} // namespace heaptape
