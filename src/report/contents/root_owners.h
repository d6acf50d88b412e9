// What owns the words from which the heap hangs: variables by their symbols, else the variables of a module as a whole, mappings, and the
// variables of threads. A block that several words of one variable lead to, as to both ends of a list, is held by that variable.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/memory/dominators.h"
#include "report/contents/snapshot_heap.h"
#include "report/names/program_symbols.h"

namespace heaptape {

struct RootOwner {
  std::string symbol{};    // of a variable; empty: the whole range
  std::uint32_t range = 0; // number in Roots::ranges
};

class RootOwners {
public:
  // Reads all roots but registers and stacks again. Neither is needed afterwards.
  static RootOwners of(SnapshotHeap& heap, ProgramSymbols& symbols);

  const Dominators& dominators() const { return dominators_; }
  // By a node of those dominators; null: it is no owner's.
  const RootOwner* owner_of(std::uint32_t node) const;
  // The node of the variable with this symbol at this address; kNone: no word of it leads to a block. Variables of one module that share
  // a name are one owner.
  std::uint32_t node_of_variable(SnapshotHeap& heap, std::string_view symbol, std::uint64_t address) const;

private:
  std::vector<RootOwner> owners_;
  Dominators dominators_;
};

} // namespace heaptape
