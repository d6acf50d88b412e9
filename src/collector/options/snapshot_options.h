// When snapshots of memory are taken by themselves: record --snapshot, HEAPTAPE_SNAPSHOT.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace heaptape {

// 0 or empty: not wanted.
struct SnapshotTriggers {
  std::uint64_t every_us = 0;
  std::uint64_t growth_bytes = 0; // of the live heap, since the last snapshot or since its lowest point after it
  std::uint64_t events = 0;       // since the last one
  bool peak = false;              // when more is live than ever
  bool exit = false;              // when the program ends by itself
  bool crash = false;             // when it is about to die of a fault or an abort
  std::uint64_t signals = 0;      // bit N - 1: when it gets signal N
  std::vector<std::string> marks{};
  std::string text{}; // as it was given
  bool any() const {
    return every_us != 0 || growth_bytes != 0 || events != 0 || peak || exit || crash || signals != 0 || !marks.empty();
  }
  // record --leaks: whatever else is wanted, also at the end.
  void add_exit();
  friend bool operator==(const SnapshotTriggers&, const SnapshotTriggers&) = default;
};

// What all snapshots of memory of a recording may cost, and what they may hold.
struct SnapshotBounds {
  static constexpr std::uint64_t kUsualBytes = 10'000'000'000;
  std::uint64_t most_bytes = kUsualBytes; // of the tape, for all of them together
  bool with_not_dumped = false;           // also what the program asked not to have in dumps
};

// "every:10s,growth:200M,events:1000000,peak,exit,crash,mark:NAME,signal:USR2".
Result<SnapshotTriggers> parse_snapshot_triggers(std::string_view text);

} // namespace heaptape
