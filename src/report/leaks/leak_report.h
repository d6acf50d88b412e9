// What the program could not get at any more at a snapshot of its memory: the four classes, and a line for each cause.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/memory/loss_causes.h"
#include "base/result.h"
#include "report/contents/snapshot_heap.h"
#include "report/leaks/leak_holders.h"
#include "report/names/program_symbols.h"
#include "report/select/filter.h"
#include "report/select/frame_filter.h"
#include "report/select/stack_cost.h"
#include "report/select/suppressions.h"
#include "report/view/tape_view.h"

namespace heaptape {

struct LeakWishes {
  bool strict = false;  // exactly as memcheck without its heuristics
  bool stacks = true;   // registers and stacks count as roots
  PointerForm form{};   // how the program disguises pointers
  bool holders = false; // work out what holds the reachable blocks

  bool plain() const { return !strict && stacks && form == PointerForm(); }
};

// What to leave out. Null: nothing.
struct LeakSelection {
  Suppressions* suppressions = nullptr; // causes that they match are counted there
  FrameFilter* filter = nullptr;
  Filter* where = nullptr; // asked about the block that is the cause
};

// Causes of one kind whose blocks were made by the same stack.
struct LeakSite {
  bool definite = true; // else possibly lost
  StackId stack;
  LeakTotals direct{};
  LeakTotals indirect{};                           // that only these lead to
  std::uint64_t example = 0;                       // address of one
  std::uint32_t cycle = 1;                         // each is one of this many blocks that lead to each other
  WeakReference reference = WeakReference::Inside; // of what is possibly lost
  std::uint32_t offset = 0;
};

struct LeakReport {
  std::uint64_t snapshot = 0, event = 0, time_us = 0;
  std::string name;
  bool strict = false, stacks = true;
  // After suppressions and filters.
  std::array<LeakTotals, kLeakClasses> totals{};
  LeakTotals only_from_stacks{}; // of the reachable
  LeakTotals
      released_later{}; // of the reachable: nothing is seen to lead to them, but the program has released them since
  LeakTotals suppressed{};
  std::vector<LeakSite> sites{};         // definite ones first, then by bytes
  std::vector<LeakHolder> from_stacks{}; // which stacks and registers: by bytes
  std::vector<LeakHolder> holders{};     // of the reachable, by bytes; when asked for
  std::vector<StackCost> lost{};         // what is definitely and indirectly lost, by the stacks that made it
  std::vector<std::string> doubts{};     // why classes may be upper bounds: sentences

  const LeakTotals& of(LeakClass leak_class) const { return totals[static_cast<std::size_t>(leak_class)]; }
};

// "definitely lost"
std::string_view leak_class_name(LeakClass leak_class);

// The last snapshot with memory, when so little happened after it that it shows the end of the run; as a number in tape.snapshots().
std::optional<std::size_t> snapshot_at_end(const TapeReader& tape);
// The one that is meant: the last one up to a moment, "snapshot:2" say. The Error says what there is instead.
Result<std::size_t> chosen_snapshot(const TapeView& view, const std::string& text);

// Without such a snapshot: a sentence on how to get one.
std::string how_to_get_leaks(const TapeView& view);

// The memory must be that of the snapshot that the heap was made of.
LeakReport make_leak_report(const TapeView& view, SnapshotHeap& heap, HeapCursor& at, ProgramSymbols& symbols,
                            const LeakWishes& wishes, const LeakSelection& selection);
// The same for a snapshot that nobody has opened yet.
Result<LeakReport> make_leak_report(const TapeView& view, std::size_t snapshot, const LeakWishes& wishes,
                                    const LeakSelection& selection);

} // namespace heaptape
