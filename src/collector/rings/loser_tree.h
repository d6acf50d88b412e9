// Merges sorted runs of ring items: one comparison per level and item.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "collector/rings/ring_item.h"

namespace heaptape {

class LoserTree {
public:
  // The items must stay where they are until all are taken.
  void add(std::span<const RingItem> run) { runs_.push_back({run.data(), run.data() + run.size(), 0}); }

  // After the last add().
  void build() {
    leaves_ = std::bit_ceil(runs_.size());
    losers_.assign(leaves_, 0);
    times_.assign(leaves_, kEnd);
    for (std::size_t i = 0; i < runs_.size(); ++i) times_[i] = time_of(runs_[i]);
    winner_ = leaves_ > 1 ? play(1) : 0;
  }

  // Fills `out` with the next items in order; less than its size only at the end.
  std::size_t take(std::span<RingItem> out) {
    std::size_t count = 0;
    while (count < out.size() && times_[winner_] != kEnd) {
      Run& run = runs_[winner_];
      out[count++] = *run.at;
      ++run.at;
      ++run.taken;
      replay(time_of(run));
    }
    return count;
  }

  // How many items of a run were taken since the last call.
  std::size_t taken(std::size_t run) { return std::exchange(runs_[run].taken, 0); }

private:
  struct Run {
    const RingItem* at;
    const RingItem* end;
    std::size_t taken;
  };
  static constexpr std::uint64_t kEnd = ~std::uint64_t{0};
  static std::uint64_t time_of(const Run& run) { return run.at == run.end ? kEnd : run.at->time(); }

  std::size_t play(std::size_t node) {
    if (node >= leaves_) return node - leaves_;
    const std::size_t left = play(2 * node), right = play(2 * node + 1);
    const bool left_wins = times_[left] <= times_[right];
    losers_[node] = left_wins ? right : left;
    return left_wins ? left : right;
  }

  void replay(std::uint64_t time) {
    std::size_t winner = winner_;
    times_[winner] = time;
    for (std::size_t node = (winner + leaves_) / 2; node >= 1; node /= 2) {
      const std::size_t loser = losers_[node];
      const bool swap = times_[loser] < time;
      losers_[node] = swap ? winner : loser;
      winner = swap ? loser : winner;
      time = swap ? times_[loser] : time;
    }
    winner_ = winner;
  }

  std::vector<Run> runs_;
  std::vector<std::size_t> losers_;
  std::vector<std::uint64_t> times_; // of each run's next item
  std::size_t leaves_ = 0;
  std::size_t winner_ = 0;
};

} // namespace heaptape
