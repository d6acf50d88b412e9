// What changed between two moments, block by block: what was made and is still there, what is gone, and, where the later moment has the
// program's memory, what began to hold the new blocks. Of one tape, or of two, where blocks cannot be told apart and sums are compared.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/changes/change_holders.h"
#include "report/select/frame_filter.h"
#include "report/view/tape_view.h"

namespace heaptape {

enum class ChangesBy : std::uint8_t {
  Type,     // of the block; both moments need the program's memory
  Function, // that is charged with it
  Stack,    // that allocated it; stacks whose functions have the same names are one
};

struct ChangedRow {
  std::string name{};          // of the type or the function; of a stack the function that is charged, and its callers
  std::string_view known_by{}; // of a type: how (report/contents/block_type.h)
  BlockSum before{}, after{};  // what is there in both is named as the later moment names it
  BlockSum made{}, gone{};     // of one tape
  StackId stack{};             // by stack: one of them, of the later moment if it is there
  bool of_after = false;       // which tape's
  std::vector<HeldBy> held_by{};
  std::size_t more_holders = 0; // that are not in held_by

  std::int64_t bytes() const { return static_cast<std::int64_t>(after.bytes - before.bytes); }
  std::int64_t blocks() const { return static_cast<std::int64_t>(after.blocks - before.blocks); }
  bool has_changed() const { return before != after || made.blocks != 0 || gone.blocks != 0; }
};

struct ChangedSide {
  const TapeView* view = nullptr;
  Moment moment{};
  const MemorySnapshot* memory = nullptr; // null: that moment has none
  BlockSum live{};
};

struct SnapshotChanges {
  ChangesBy by = ChangesBy::Type;
  bool one_tape = true;
  ChangedSide before{}, after{};
  BlockSum made{}, gone{};      // of one tape
  std::vector<ChangedRow> rows; // those that changed, the largest change in bytes first
  std::size_t unchanged = 0;    // rows
  std::vector<RootSum> roots{}; // what holds the new blocks of all rows, of two tapes all blocks; most bytes first
  std::string no_holders{};     // why nobody can say what holds the new blocks; empty: it is said
};

struct ChangesQuestion {
  ChangesBy by = ChangesBy::Type;
  FrameFilter& filter;     // of stacks
  std::size_t rows = 20;   // that are to say what holds their blocks
  std::size_t holders = 3; // of each row at most
};

// The views, which may be the same one, must outlive the result. Fails when a moment has no memory and types are asked for, and when the
// later moment comes first. Takes the memory of one heap with its references at a time, and the table of live blocks of the other.
Result<SnapshotChanges> make_snapshot_changes(const TapeView& before, const Moment& from, const TapeView& after,
                                              const Moment& to, const ChangesQuestion& question);

} // namespace heaptape
