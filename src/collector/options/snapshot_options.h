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
  std::vector<std::string> marks{};
  std::string text{}; // as it was given
  bool any() const { return every_us != 0 || growth_bytes != 0 || events != 0 || peak || !marks.empty(); }
  friend bool operator==(const SnapshotTriggers&, const SnapshotTriggers&) = default;
};

// "every:10s,growth:200M,events:1000000,peak,mark:NAME".
Result<SnapshotTriggers> parse_snapshot_triggers(std::string_view text);

} // namespace heaptape
