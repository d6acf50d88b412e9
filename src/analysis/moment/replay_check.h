// Does a tape make sense? Replays the events and reports what no heap can do: two live blocks that overlap, wholly or
// in part; a release of a block that was released already; a release of an address inside a block. Releases of
// addresses the tape knows nothing about are counted only: such blocks may be older than the recording. Each pool of
// the program's own is checked like a heap for itself. One thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analysis/moment/block_index.h"
#include "tape/event.h"
#include "tape/inherited.h"

namespace heaptape {

enum class ReplayFault : std::uint8_t {
  Overlap,         // a block was made where one is live
  DoubleRelease,   // a block was released (or reallocated) a second time
  InteriorRelease, // an address inside a live block was released (or reallocated)
};
inline constexpr std::size_t kReplayFaults = 3;

struct ReplayFinding {
  ReplayFault fault = ReplayFault::Overlap;
  std::uint64_t event = 0; // the event that is impossible
  std::uint64_t other =
      0; // Overlap, InteriorRelease: the event that made the block in the way; DoubleRelease: the first one
  std::uint64_t address = 0;
  std::uint64_t size = 0; // of the block made; 0 for releases
  std::uint64_t pool = 0; // that it is about; 0: the heap

  friend bool operator==(const ReplayFinding&, const ReplayFinding&) = default;
};

class ReplayCheck {
public:
  // Pools whose frees are not all on the tape, and which are not checked: a library frees some blocks itself.
  explicit ReplayCheck(std::set<std::uint64_t> incomplete_pools = {})
      : incomplete_pools_(std::move(incomplete_pools)) {}

  static constexpr std::size_t kMostFindings = 1000;

  // Before the first event: blocks from before a fork. A release of one is not unknown, a second one is an error. What is
  // made over one has ended it: where other threads allocated at the moment of the fork, it is not known exactly what was live.
  void inherit(const std::vector<InheritedBlock>& blocks);

  // The next event. A gap in the numbers (a damaged tape) makes it forget all blocks.
  void add(const Event& event);

  // The first kMostFindings, in order of events.
  const std::vector<ReplayFinding>& findings() const { return findings_; }
  // How many in all, of each sort.
  std::uint64_t count(ReplayFault fault) const { return counts_[static_cast<std::size_t>(fault)]; }
  std::uint64_t fault_count() const { return counts_[0] + counts_[1] + counts_[2]; }

  std::uint64_t events() const { return events_; }
  std::uint64_t unknown_releases() const { return unknown_releases_; }
  std::uint64_t live_blocks() const { return blocks_.size(); }
  std::uint64_t gaps() const { return gaps_; }

private:
  void make(BlockIndex& blocks, const Event& event);
  bool release(BlockIndex& blocks, const Event& event, std::uint64_t address);
  void add_pool(const Event& event);
  void report(ReplayFinding finding);

  BlockIndex blocks_;
  BlockIndex inherited_;
  std::map<std::uint64_t, BlockIndex> pools_; // by number
  std::set<std::uint64_t> incomplete_pools_;
  std::vector<ReplayFinding> findings_;
  std::array<std::uint64_t, kReplayFaults> counts_{};
  std::uint64_t events_ = 0;
  std::uint64_t last_number_ = 0;
  std::uint64_t unknown_releases_ = 0;
  std::uint64_t gaps_ = 0;
};

} // namespace heaptape
