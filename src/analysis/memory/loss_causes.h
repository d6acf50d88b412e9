// Why blocks are lost: each cause is one block, with what is lost through it.
//
//   E ─► F                   one cause: E, with F beside it
//   G ◄─► H                  one cause: G, in a cycle of 2
//   root ─► in the middle of C ─► D      one cause: C, possibly lost for that reference, with D beside it
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/memory/heap_view.h"
#include "analysis/memory/reachability.h"

namespace heaptape {

enum class WeakReference : std::uint8_t { Inside, Unaligned, Behind };

struct LossCause {
  std::uint32_t block = 0;
  bool definite = true;    // else possibly lost
  std::uint32_t cycle = 1; // blocks that lead to each other, this one among them; of definite ones
  LeakTotals indirect{};   // what only this one leads to; below two of them it counts for one
  // Of a block that is possibly lost: the reference that keeps it from being lost.
  WeakReference reference = WeakReference::Inside;
  std::uint32_t offset = 0; // of Inside: where in the block it leads
};

// The definite ones by address, then the others by address.
std::vector<LossCause> loss_causes(const HeapView& heap, const Reachability& reach);

} // namespace heaptape
