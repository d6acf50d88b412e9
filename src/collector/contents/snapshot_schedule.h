// Says when the next snapshot of memory is due.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "collector/options/snapshot_options.h"

namespace heaptape {

// One thread at a time.
class SnapshotSchedule {
public:
  explicit SnapshotSchedule(SnapshotTriggers triggers) : triggers_(std::move(triggers)) {}

  struct Now {
    std::uint64_t time_us = 0;
    std::uint64_t events = 0;
    std::uint64_t live_bytes = 0;
  };
  // The name of the snapshot that is due; call it often. It counts as taken.
  std::optional<std::string> due(const Now& now);
  // Whether one is wanted at this mark.
  bool wants_mark(std::string_view name) const;
  const SnapshotTriggers& triggers() const { return triggers_; }
  // A snapshot was taken for another reason, too.
  void taken(const Now& now);

private:
  SnapshotTriggers triggers_;
  Now last_{};
  std::uint64_t lowest_bytes_ = 0; // since the last one
  std::uint64_t peak_bytes_ = 0;   // live at the last one that was for a peak
  std::uint64_t highest_bytes_ = 0;
};

} // namespace heaptape
