// Filters: which events or blocks somebody wants to see, in a small language (docs/guide/filters.md):
//
//   size>1M and thread=3 and fn~"parse" and age>10s and not freed
//
// A comparison with something that is not there (the size of a release, the time a live block was freed) does not hold, whatever the
// comparison. Names stand for all frames of a stack: fn=f and fn~re hold when one does, fn!=f and fn!~re when none does.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/answers.h"
#include "analysis/block_map.h"
#include "base/result.h"
#include "report/filter_fields.h"
#include "report/position.h"
#include "report/stack_names.h"
#include "tape/contents.h"
#include "tape/event.h"

namespace heaptape {

class TapeView;

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

// Movable. One thread at a time: it remembers what it found out about each stack.
class Filter {
public:
  // Everything for an empty text. The view, or what the names refer to, must outlive it. An Error has a sentence, then the filter and a
  // caret below it, each on a line of its own.
  static Result<Filter> parse(std::string_view text, FilterOf of, const TapeView& view);
  static Result<Filter> parse(std::string_view text, FilterOf of, FilterNames names);

  Filter(Filter&&) noexcept;
  Filter& operator=(Filter&&) noexcept;
  ~Filter();

  // Call the one that it was made for.
  bool matches(const Event& event);
  bool matches(const BlockFacts& block);

  bool matches_everything() const;
  // Which parts of BlockFacts it looks at, besides block and owner. Who asks about live blocks alone can leave `freed` as it is.
  bool needs_kind() const;
  bool needs_freed() const;
  bool needs_now() const; // with freed blocks: their end, too
  // It looks at the owner alone: all blocks of a stack and thread match, or none.
  bool needs_owner_only() const;

  // What every match satisfies, so that a scan can skip; all inclusive. Of blocks: the event that made it, its time, where it begins.
  struct Bounds {
    static constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t first_event = 0, last_event = kLast;
    std::uint64_t first_us = 0, last_us = kLast;
    std::uint64_t first_address = 0, last_address = kLast;
    friend bool operator==(const Bounds&, const Bounds&) = default;
  };
  const Bounds& bounds() const;

private:
  struct Program;
  explicit Filter(std::unique_ptr<Program> program);
  std::unique_ptr<Program> program_;
};

} // namespace heaptape
