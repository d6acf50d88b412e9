// The moment at which heap and own mappings together were largest, and what they consisted of. Part of the one pass over a tape
// (replay.h, which explains epochs and saved rows). One thread at a time.
//
// A mapping counts with its bytes while it is open, unless
//   it is of a file,
//   it was made without any access (PROT_NONE): a reservation,
//   it is an allocator's: its stack says so (AllocatorStacks), or a block was made inside it. The blocks count then, and not twice.
// A mapping that turns out to be an allocator's by its first block stops to count at that block.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/heap/mapping_set.h"
#include "analysis/index/findings.h"
#include "base/ids.h"

namespace heaptape {

class TotalPeakFinder {
public:
  // Whether an allocator made the mappings of this stack; empty: none does.
  using IsAllocators = std::function<bool(StackId)>;
  explicit TotalPeakFinder(IsAllocators is_allocators) : is_allocators_(std::move(is_allocators)) {}

  // A mapping was counted: from then on the calls below are to be made. Before, heap and total are the same.
  bool is_active() const { return active_; }

  // See MappingSet. The first call of opened() that counts makes it active; then the caller has to start() it.
  void opened(const MappingPiece& piece);
  void closed(const MappingPiece& piece);

  // What was live at the heap's peak so far, by owner's number, and that peak.
  void start(std::vector<Cost> at_heap_peak, std::uint64_t peak_bytes, std::uint64_t event, std::uint64_t time_us);

  // Before what an owner has live changes.
  [[gnu::always_inline]] void before_change(std::uint32_t owner, const Cost& live) {
    if (owner >= rows_.size()) [[unlikely]]
      rows_.resize(std::size_t{owner} + owner / 2 + 16);
    Saved& row = rows_[owner];
    if (row.epoch == epoch_) return;
    row = {live, epoch_};
  }
  // A block was made here.
  [[gnu::always_inline]] void made(std::uint64_t address) {
    if (address - clear_begin_ >= clear_bytes_) [[unlikely]]
      look_for_mapping(address);
  }
  // After all changes of an event.
  [[gnu::always_inline]] void after_event(std::uint64_t live_bytes, std::uint64_t event, std::uint64_t time_us) {
    const std::uint64_t bytes = live_bytes + open_bytes_;
    if (bytes <= peak_.bytes) [[likely]]
      return;
    peak_.bytes = bytes;
    peak_.heap_bytes = live_bytes;
    peak_.event = event;
    peak_.time_us = time_us;
    ++epoch_;
  }

  // At the end. `live_of(number)` is what an owner has live, `owners` how many there are. Rows without a block are left out.
  template <class OwnerOf, class LiveOf>
  TotalPeak finish(std::uint32_t owners, OwnerOf owner_of, LiveOf live_of) {
    for (std::uint32_t i = 0; i < owners; ++i) {
      const Cost at_peak = i < rows_.size() && rows_[i].epoch == epoch_ ? rows_[i].cost : live_of(i);
      if (at_peak != Cost{}) peak_.blocks.push_back({owner_of(i), at_peak});
    }
    finish_rows();
    return std::move(peak_);
  }

private:
  struct Saved {
    Cost cost{};
    std::uint64_t epoch = 0;
  };
  struct StackRow {
    Cost open{};
    Saved saved{};
  };
  struct Counted {
    std::uint64_t end = 0, event = 0;
    StackId stack;
  };

  bool counts(const MappingPiece& piece);
  void look_for_mapping(std::uint64_t address);
  StackRow& row_before_change(StackId stack);
  void finish_rows();

  IsAllocators is_allocators_;
  bool active_ = false;
  std::uint64_t epoch_ = 1;
  std::vector<Saved> rows_; // by owner's number
  std::unordered_map<StackId, StackRow> stacks_;
  std::map<std::uint64_t, Counted> open_;         // those that count, by where they begin
  std::unordered_set<std::uint64_t> with_blocks_; // events whose mappings hold blocks
  std::uint64_t open_bytes_ = 0;
  // No mapping that counts is in here; so a block in here changes nothing.
  std::uint64_t clear_begin_ = 0, clear_bytes_ = 0;
  TotalPeak peak_;
};

} // namespace heaptape
