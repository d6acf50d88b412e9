// What a filter looks at, and what it is looked up in.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "analysis/heap/block_map.h"
#include "analysis/heap/owner.h"
#include "base/result.h"
#include "report/names/stack_names.h"
#include "report/view/position.h"
#include "tape/contents.h"
#include "tape/event.h"

namespace heaptape {

// A block at some moment, with what became of it.
struct BlockFacts {
  Block block{};
  Owner owner{};
  EventKind kind = EventKind::None; // None: not known
  std::uint64_t now_us = 0;         // the moment asked about
  bool freed = false;               // by then; what follows is about that
  std::uint64_t freed_event = 0, freed_us = 0;
  ThreadId freed_thread{};
  StackId freed_stack{};
};

// What the words of a filter are looked up in.
struct FilterNames {
  StackNames& names;
  const std::vector<Thread>& threads;
  std::function<Result<Moment>(const std::string&)> moment; // "peak", marks, ...
};

// What every match of a filter satisfies; all inclusive. Of blocks: the event that made it, its time, where it begins.
struct FilterBounds {
  static constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t first_event = 0, last_event = kLast;
  std::uint64_t first_us = 0, last_us = kLast;
  std::uint64_t first_address = 0, last_address = kLast;
  friend bool operator==(const FilterBounds&, const FilterBounds&) = default;
};
} // namespace heaptape
