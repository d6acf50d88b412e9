// What changed between two lists of costs, of two tapes or of two moments of one. Stacks are the same when their
// functions have the same names (StackPaths), whatever their addresses and lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/figures/call_tree.h"
#include "report/names/stack_names.h"
#include "report/text/json_writer.h"
#include "report/text/text_style.h"

namespace heaptape {

enum class Change : std::uint8_t { Grown, Shrunk, New, Gone };
const char* change_word(Change change);

struct DiffRow {
  Change change = Change::Grown;
  Cost before{}, after{};
  bool from_after = true; // which side `stack` is of; the later one if it is on both
  StackId stack{};

  std::int64_t bytes() const { return static_cast<std::int64_t>(after.bytes - before.bytes); }
  std::int64_t blocks() const { return static_cast<std::int64_t>(after.blocks - before.blocks); }
};

struct Diff {
  Cost before{}, after{};    // of everything
  std::vector<DiffRow> rows; // those that changed, the largest change in bytes first
  std::size_t unchanged = 0; // stacks
};

struct DiffSide {
  StackNames& names;
  const std::vector<StackCost>& costs;
};
Diff make_diff(const DiffSide& before, const DiffSide& after);

struct DiffText {
  std::size_t rows = 20;
  TextStyle style{};
};
// The total, the largest changes, and one line for the rest: together exactly the difference of the totals.
std::string diff_text(const Diff& diff, const DiffSide& before, const DiffSide& after, const DiffText& options);
// The fields of an object that is open.
void write_diff_json(JsonWriter& json, const Diff& diff, const DiffSide& before, const DiffSide& after);

} // namespace heaptape
