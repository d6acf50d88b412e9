// Which blocks the program can still get at, and which are lost.
//
//   root ─► A ─► B            reachable
//   root ─► in the middle of C ─► D     C and D possibly lost, unless that is where programs point to on purpose
//   E ─► F, E not referred to: E definitely lost, F indirectly, through E
//   G ◄─► H, not referred to by others: G, the one with the lower address, definitely, H indirectly
//
// A path is as strong as the weakest reference on it; a block's strength is that of the best path from any root.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/memory/heap_view.h"
#include "analysis/memory/known_places.h"
#include "analysis/memory/second_look.h"
#include "analysis/memory/table_vector.h"

namespace heaptape {

enum class PathStrength : std::uint8_t {
  Start,
  KnownInside,
  Inside,
  Doubtful, // a word that is not aligned, or that leads right behind the block
  None,
};

enum class LeakClass : std::uint8_t { Reachable, Possibly, Definitely, Indirectly };
inline constexpr std::size_t kLeakClasses = 4;

struct ReachOptions {
  // As memcheck does it without its heuristics: every path through the inside of a block makes what it leads to possibly lost, and
  // doubtful references do not count.
  bool strict = false;
  bool stacks = true; // registers and stacks count as roots
  bool second_look =
      true; // for doubtful references to what would be lost; takes about as long as the graph. Not when strict
  std::span<const std::uint64_t> in_use{}; // addresses of blocks that the program has in any case: they count as roots
};

struct LeakTotals {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
};

// A block that is definitely lost, and what is lost with it. A block below two of them counts for one.
struct LostLeader {
  std::uint32_t block = 0;
  LeakTotals indirect{};
};

// Const calls may come from any thread. 1 byte per block, and 4 when something is lost.
class Reachability {
public:
  static Reachability of(const HeapView& heap, const KnownPlaces& known = {}, const ReachOptions& options = {});

  PathStrength strength(std::uint32_t block) const { return static_cast<PathStrength>(state_[block] & kStrength); }
  LeakClass class_of(std::uint32_t block) const;
  // Reached, and not from any root but registers and stacks.
  bool only_from_stacks(std::uint32_t block) const { return (state_[block] & kWeak) != 0; }
  // The lost block through which this lost one is lost; itself when it is definitely lost.
  std::uint32_t leader_of(std::uint32_t block) const { return leader_[block]; }

  const LeakTotals& totals(LeakClass leak_class) const { return totals_[static_cast<std::size_t>(leak_class)]; }
  const LeakTotals& only_from_stacks() const { return from_stacks_; }
  std::span<const LostLeader> leaders() const { return leaders_; } // by address
  // What the second look found: one reference for each block that nothing else leads to, in no order.
  std::span<const DoubtfulReference> doubtful() const { return doubtful_; }
  const ReachOptions& options() const { return options_; } // without in_use

private:
  friend class Marker;
  static constexpr std::uint8_t kStrength = 7, kWeak = 8;

  void find_leaders(const HeapView& heap);
  void add_up(const BlockRanks& ranks);

  ReachOptions options_;
  TableVector<std::uint8_t> state_;
  TableVector<std::uint32_t> leader_; // of lost blocks; empty when nothing is lost
  std::array<LeakTotals, kLeakClasses> totals_{};
  LeakTotals from_stacks_{};
  std::vector<LostLeader> leaders_;
  std::vector<DoubtfulReference> doubtful_;
};

} // namespace heaptape
