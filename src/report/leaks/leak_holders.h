// What holds the blocks that the program can still get at: which variable, stack or mapping.
#pragma once

#include <string>
#include <vector>

#include "report/contents/snapshot_heap.h"
#include "report/names/program_symbols.h"

namespace heaptape {

struct LeakHolder {
  std::string root; // "g_cache (variables of server)", "stack of thread 4711"
  LeakTotals held{};
};

struct LeakHolders {
  std::vector<LeakHolder> all{};         // of all that is reachable, the largest first
  std::vector<LeakHolder> from_stacks{}; // of what only registers and stacks lead to
};

// Of each block the nearest root counts, and a variable before a stack.
LeakHolders leak_holders(SnapshotHeap& heap, const Reachability& reach, ProgramSymbols& symbols);

} // namespace heaptape
