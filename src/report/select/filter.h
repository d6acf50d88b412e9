// Filters: which events or blocks to show, in a small language (docs/guide/filters.md):
//
//   size>1M and thread=3 and fn~"parse" and age>10s and not freed
//
// A comparison with something that is not there (the size of a release, the time a live block was freed) does not hold,
// whatever the comparison. Names stand for all frames of a stack: fn=f and fn~re hold when one does, fn!=f and fn!~re
// when none does.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "report/select/filter_facts.h"
#include "report/select/filter_fields.h"

namespace heaptape {

class TapeView;
struct FilterProgram;

// Movable. One thread at a time: it remembers what it found out about each stack.
class Filter {
public:
  // Everything for an empty text. The view, or what the names refer to, must outlive it. An Error has a sentence, then
  // the filter and a caret below it, each on a line of its own.
  static Result<Filter> parse(std::string_view text, FilterOf of, const TapeView& view);
  static Result<Filter> parse(std::string_view text, FilterOf of, FilterNames names);

  Filter(Filter&&) noexcept;
  Filter& operator=(Filter&&) noexcept;
  ~Filter();

  // Call the one that it was made for.
  bool matches(const Event& event);
  bool matches(const BlockFacts& block);

  bool matches_everything() const;
  // Which parts of BlockFacts it looks at, besides block and owner. Who asks about live blocks alone can leave `freed`
  // as it is.
  bool needs_kind() const;
  bool needs_freed() const;
  bool needs_now() const; // with freed blocks: their end, too
  // It looks at the owner alone: all blocks of a stack and thread match, or none.
  bool needs_owner_only() const;

  // What every match satisfies, so that a scan can skip.
  using Bounds = FilterBounds;
  const Bounds& bounds() const;

private:
  explicit Filter(std::unique_ptr<FilterProgram> program);
  std::unique_ptr<FilterProgram> program_;
};

} // namespace heaptape
