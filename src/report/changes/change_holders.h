// What began to hold the new blocks of a snapshot, in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/memory/new_holders.h"
#include "report/contents/block_types.h"
#include "report/contents/snapshot_heap.h"
#include "report/names/program_symbols.h"
#include "tape/reader.h"

namespace heaptape {

struct BlockSum {
  std::uint64_t blocks = 0, bytes = 0;
  void add(std::uint64_t size) { ++blocks, bytes += size; }
  friend bool operator==(const BlockSum&, const BlockSum&) = default;
};

struct HeldBy {
  BlockSum held{};
  std::uint64_t example = 0;   // address of the block among them that retains most
  bool is_lost = false;        // nothing leads to them, and what follows is empty
  std::string root{};          // "g_cache (variables of shop)", "registers and stack of thread 4711", kHeldInManyWays
  std::string holder{};        // the blocks that hold them, which were there before: "Shop"; empty: the root does
  std::uint64_t holder_at = 0; // the address of this block; 0: there are several
  HeldAt at{};                 // where in the holder, or in the variable; not known: several words on different ways
  std::vector<std::string> through{}; // new blocks on the way from there, each kind once: "node of map<int, Order>"
  std::vector<std::string> ways{};    // where the root is kHeldInManyWays: some that lead there
};

struct HoldersQuestion {
  NewBlocks blocks;
  std::span<const std::uint32_t> wanted{}; // numbers of NewBlocks::what_of
  std::size_t most = 3;                    // of each
};
struct HoldersOfRow {
  std::vector<HeldBy> list{}; // most bytes first
  std::size_t more = 0;       // that are left out
};

// What one root holds of all new blocks that count.
struct RootSum {
  std::string root{}; // as in HeldBy; empty: nothing leads to them
  BlockSum held{};
};
struct NewBlockHolders {
  std::vector<HoldersOfRow> rows; // in the order of `wanted`
  std::vector<RootSum> roots;     // most bytes first
};
NewBlockHolders holders_of(const TapeReader& tape, SnapshotHeap& heap, const BlockTypes& types, ProgramSymbols& symbols,
                           const HoldersQuestion& question);

} // namespace heaptape
