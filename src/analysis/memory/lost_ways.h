// How a lost block hangs together with others that are lost.
//
//   A ─► B ─► C ─► D      A is the leader. Of C the way is A B C, the ring C B C, the cycle 2, and below it are B and D
//        ▲────┘
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/memory/heap_view.h"
#include "analysis/memory/reachability.h"

namespace heaptape {

struct LostWays {
  std::vector<std::uint32_t> way{};  // the shortest from its leader to it, with both; of the leader itself empty
  std::vector<std::uint32_t> ring{}; // the shortest from it back to it, by others; without its end. Empty: none
  std::uint32_t cycle = 1;           // blocks that lead to each other, this one among them
  LeakTotals below{};                // lost blocks that it leads to, itself not counted
};

// Of a block that is definitely or indirectly lost. Goes through all that is lost together with it.
LostWays lost_ways(const HeapView& heap, const Reachability& reach, std::uint32_t block);

} // namespace heaptape
