// Which events of a tape a command is about: a stretch of it, a thread, some kinds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/quantities.h"
#include "tape/contents.h"
#include "tape/event.h"

namespace heaptape::cli {

// A set of kinds; all of them by default.
class KindSet {
public:
  // Names as kind_name() gives them, "new" and "delete" without the "operator " too, or a group: "alloc" (everything that
  // makes a heap block), "release" (everything that ends one), "map"; separated by commas. realloc is in the first two.
  static Result<KindSet> parse(const std::string& names);

  bool contains(EventKind kind) const { return (bits_ >> static_cast<unsigned>(kind) & 1) != 0; }

private:
  std::uint64_t bits_ = ~std::uint64_t{0};
};

// A thread by its number on the tape or, when no thread has that number, by the kernel's id. Threads that had the same
// kernel id one after another are all meant.
Result<std::vector<ThreadId>> find_threads(const std::vector<Thread>& threads, const std::string& text);

struct EventFilter {
  std::optional<Position> from, to; // both inclusive
  std::optional<std::vector<ThreadId>> threads;
  KindSet kinds;

  bool accepts(const Event& event) const;
  // No later event can be accepted.
  bool is_past(const Event& event) const;
};

} // namespace heaptape::cli
