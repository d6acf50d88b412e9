// The heap as the collector follows it while it records: of each live block the size, its family, and the event that made it, which the tape
// names in the event that ends it. Checks of tapes use it too. One thread at a time.
#pragma once

#include <cstdint>

#include "analysis/heap/heap_ledger.h"
#include "analysis/heap/live_map.h"

namespace heaptape {

// A block that has just ended.
struct EndedBlock {
  std::uint64_t size = 0;
  std::uint64_t allocated_at = 0; // event number; 0: there was no such block
  Family family = Family::Unknown;
};

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
    EndedBlock ended;
    return apply(event, on_collision, ended);
  }
  // As above, and says which block ended.
  template <class AnyEvent, class OnCollision>
  std::uint64_t apply(AnyEvent& event, OnCollision&& on_collision, EndedBlock& ended) {
    Listener listener(on_collision);
    ledger_.apply(event, listener);
    ended = listener.block;
    return ended.allocated_at;
  }

  // apply() for an event that is known to be an allocation, address not 0.
  template <class OnCollision>
  [[gnu::always_inline]] void allocate(Event& event, OnCollision&& on_collision) {
    Listener listener(on_collision);
    ledger_.allocate(event, listener);
  }

  // apply() for a release, if its block is live; else false, and nothing changes.
  [[gnu::always_inline]] bool try_release(const Event& event, EndedBlock& ended) {
    const auto nothing = [](const Event&) {};
    Listener listener(nothing);
    if (!ledger_.try_release(event, listener)) [[unlikely]]
      return false;
    ended = listener.block;
    return true;
  }

  // The live block at this address belongs to another family than the event that made it said.
  void set_family(std::uint64_t address, Family family) { ledger_.store().set_family(address, family); }

private:
  struct NumberedBlocks {
    using Block = LiveBlock;
    LiveMap live;

    // The table has room for more events than there ever are; the topmost bits hold the family.
    static constexpr unsigned kFamilyShift = LiveLayout::kEventBits - 2;
    static constexpr std::uint64_t kNumberMask = (std::uint64_t{1} << kFamilyShift) - 1;

    static Block block_of(const Event& event) { return {event.size, with_family(event.number, family_of(event.kind))}; }
    static std::uint64_t with_family(std::uint64_t number, Family family) {
      return (number & kNumberMask) | static_cast<std::uint64_t>(family) << kFamilyShift;
    }
    static Family family_in(const Block& block) { return static_cast<Family>(block.allocated_at >> kFamilyShift & 3); }
    void set_family(std::uint64_t address, Family family) {
      Block block;
      if (!live.take(address, block)) return;
      block.allocated_at = with_family(block.allocated_at, family);
      live.insert(address, block);
    }
    [[gnu::always_inline]] bool insert(std::uint64_t address, Block block) { return live.insert(address, block); }
    [[gnu::always_inline]] bool take(std::uint64_t address, Block& block) { return live.take(address, block); }
  };
  template <class OnCollision>
  struct Listener : BlockListener {
    OnCollision& on_collision;
    EndedBlock block;

    explicit Listener(OnCollision& handler) : on_collision(handler) {}
    void collides(auto& event) { on_collision(event); }
    void ended(const LiveBlock& gone, const Event&) {
      block = {gone.size, gone.allocated_at & NumberedBlocks::kNumberMask, NumberedBlocks::family_in(gone)};
    }
  };

  HeapLedger<NumberedBlocks> ledger_;
};

} // namespace heaptape
