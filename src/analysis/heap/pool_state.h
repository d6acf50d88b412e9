// The program's pools as the events tell them: what is live in each, its totals and its peak. Pool blocks lie inside other memory and
// are no part of the heap (see HeapState). Takes memory for the live blocks and the owners. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <unordered_map>
#include <vector>

#include "analysis/heap/cost.h"
#include "analysis/heap/heap_totals.h"
#include "analysis/heap/owner.h"
#include "tape/reader.h"

namespace heaptape {

struct PoolFigures {
  std::uint64_t pool = 0; // its number; 0: blocks that some function of --free-fn freed and none of --alloc-fn had made
  Cost allocated;         // ever
  Cost live;
  std::uint64_t peak_bytes = 0;
  std::uint64_t peak_event = 0; // the first event after which so much was live
  std::uint64_t peak_us = 0;
  std::uint64_t resets = 0;        // times that it was emptied at once
  std::uint64_t unknown_frees = 0; // of what was no live block of the pool
  std::uint64_t replaced = 0;      // blocks that ended because another was made at their address
  friend bool operator==(const PoolFigures&, const PoolFigures&) = default;
};

struct PoolBlock {
  std::uint64_t pool = 0;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t event = 0; // that made it
  std::uint64_t time_us = 0;
  Owner owner;
  friend bool operator==(const PoolBlock&, const PoolBlock&) = default;
};

struct PoolOwnerCost {
  Owner owner;
  Cost allocated;
  Cost live;
  friend bool operator==(const PoolOwnerCost&, const PoolOwnerCost&) = default;
};

class PoolState {
public:
  // Events of other kinds are passed over.
  void apply(const Event& event);

  // By number.
  std::vector<PoolFigures> figures() const;
  // Who made the blocks of a pool; by owner.
  std::vector<PoolOwnerCost> owners(std::uint64_t pool) const;
  // The live blocks that cover an address, by pool; looks at every live block.
  std::vector<PoolBlock> find_around(std::uint64_t address) const;

private:
  struct Live {
    std::uint64_t size;
    std::uint64_t event;
    std::uint64_t time_us;
    Owner owner;
  };
  struct OnePool {
    PoolFigures figures;
    std::unordered_map<std::uint64_t, Live> blocks; // by address
    std::map<Owner, Cost> allocated;
  };

  static void end(OnePool& pool, std::unordered_map<std::uint64_t, Live>::iterator block);
  static void make(OnePool& pool, const Event& event);

  std::map<std::uint64_t, OnePool> pools_; // by number
};

struct PoolPass {
  std::uint64_t until = std::numeric_limits<std::uint64_t>::max(); // the last event
  std::function<bool()> should_stop{}; // asked now and then; what is there then is the result
};
struct PoolsFound {
  PoolState state;
  std::vector<Damage> damage{};
};
// The pools after an event: a pass over the tape up to there, on all processors. Ask only where the totals count pool events.
PoolsFound pools_after(const TapeReader& tape, const PoolPass& options = {});

// Whether there are pool events, given the count of each kind.
bool has_pools(const HeapTotals& totals);

} // namespace heaptape
