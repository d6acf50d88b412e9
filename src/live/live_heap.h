// Who holds the heap right now, by call stack: live, ever allocated and freed, and both since the last look, in bytes
// and blocks. Needs memory for the live blocks and for each stack that ever made one, whatever the number of events.
// One thread at a time.
//
// The figures are those of docs/definitions.md: a block belongs to the stack that made it, a realloc frees the old
// block and makes the new one, so that live = allocated - freed holds for every stack and for the sum, after every
// event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/heap/cost.h"
#include "analysis/heap/heap_ledger.h"
#include "analysis/heap/live_map.h"
#include "base/ids.h"
#include "collector/options/live_options.h"
#include "tape/event.h"

namespace heaptape {

// What a stack made, and what became of it.
struct StackTally {
  StackId stack{};
  Cost allocated{};
  Cost freed{};

  Cost live() const { return allocated - freed; }
  friend bool operator==(const StackTally&, const StackTally&) = default;
};

class LiveHeap {
public:
  // How far ahead of the event being applied a caller should prefetch().
  static constexpr std::size_t kAhead = 8;

  // Starts loading what apply() will need for this event.
  [[gnu::always_inline]] void prefetch(const Event& event) const { stacks().live.prefetch(event.address); }
  // Takes the next event in. Its stack must be a good id: there is a number per stack up to the largest.
  void apply(const Event& event);

  // Over all stacks.
  Cost allocated() const { return {totals().allocated_bytes, totals().allocated_blocks}; }
  Cost freed() const { return allocated() - live(); }
  Cost live() const { return {totals().live_bytes, totals().live_blocks}; }
  std::uint64_t peak_bytes() const { return totals().peak_bytes; }
  std::uint64_t events() const { return totals().events; }
  // Bytes allocated and freed since take_changes() was called last.
  std::uint64_t churn_bytes() const { return churn_bytes_; }

  // What changed since the last call, in the order it began to: per stack only what came in between.
  std::vector<StackTally> take_changes();

  // All stacks that ever made a block, in the order of their first; a stack keeps its place.
  const std::vector<StackTally>& tallies() const { return stacks().tallies; }
  // The `most` with the largest figure, the largest first; equal ones by age. Those with nothing of it are left out.
  std::vector<StackTally> largest(std::size_t most, TableSort sort = TableSort::Live) const;

private:
  // Remembers of a block the row of its stack, in place of the event that made it.
  struct BlocksByStack {
    using Block = LiveBlock;
    LiveMap live;
    std::vector<std::uint32_t> rows; // 1 + place in tallies, by stack; 0: none yet
    std::vector<StackTally> tallies;
    std::vector<std::uint8_t> is_changed; // by row

    [[gnu::always_inline]] std::uint32_t row_of(StackId stack) {
      if (stack.value < rows.size()) [[likely]] {
        if (const std::uint32_t row = rows[stack.value]; row != 0) [[likely]]
          return row - 1;
      }
      return add_row(stack);
    }
    std::uint32_t add_row(StackId stack);

    [[gnu::always_inline]] Block block_of(const Event& event) { return {event.size, row_of(event.stack)}; }
    [[gnu::always_inline]] bool insert(std::uint64_t address, Block block) { return live.insert(address, block); }
    [[gnu::always_inline]] bool take(std::uint64_t address, Block& block) { return live.take(address, block); }
  };
  struct Listener;
  struct Changed {
    std::uint32_t row;
    Cost allocated, freed; // before
  };

  const HeapTotals& totals() const { return ledger_.totals(); }
  const BlocksByStack& stacks() const { return ledger_.store(); }
  // The tally of the block's stack, which is about to change.
  [[gnu::always_inline]] StackTally& changing(const LiveBlock& block) {
    const auto row = static_cast<std::uint32_t>(block.allocated_at);
    StackTally& tally = ledger_.store().tallies[row];
    if (ledger_.store().is_changed[row] == 0) {
      ledger_.store().is_changed[row] = 1;
      changed_.push_back({row, tally.allocated, tally.freed});
    }
    return tally;
  }

  HeapLedger<BlocksByStack> ledger_;
  std::vector<Changed> changed_;
  std::uint64_t churn_bytes_ = 0;
};

} // namespace heaptape
