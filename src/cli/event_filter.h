// Which events of a tape a command is about: a stretch of it, a thread, some kinds.
#pragma once

#include <optional>
#include <vector>

#include "cli/quantities.h"
#include "report/kind_set.h"
#include "tape/event.h"

namespace heaptape::cli {

struct EventFilter {
  std::optional<Position> from, to; // both inclusive
  std::optional<std::vector<ThreadId>> threads;
  KindSet kinds;

  bool accepts(const Event& event) const;
  // No later event can be accepted.
  bool is_past(const Event& event) const;
};

} // namespace heaptape::cli
