// What `heaptape report` shows, and its short forms leaks and peak: a first page with what stands out
// and trees of the call stacks behind it, or only the parts that were asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "report/figures/allocation_cost.h"
#include "report/figures/call_tree.h"
#include "report/leaks/leak_report.h"
#include "report/pages/overview.h"
#include "report/select/filter.h"
#include "report/select/frame_filter.h"
#include "report/select/suppressions.h"
#include "report/view/tape_view.h"

namespace heaptape {

// A part that can be asked for by name: a tree, unless it says otherwise.
enum class Section : std::uint8_t {
  Leaks,       // what is lost at the end, with a snapshot of the memory there; else what was still live
  Peak,        // live at the peak
  Allocations, // ever allocated; with `from` or `to`, all in between
  Temporary,   // freed by the thread that made them as its very next event
  Snapshots,   // a tree per mark of the program: live then
  Deltas,      // the same: the change since the mark before, which may be negative
  Cumulative,  // the same: the change since the first mark
  TotalPeak,   // blocks and mappings when both together were largest
  Mappings,    // three trees of the program's own mappings: resident at the peak, open at the end, ever made
  Cost,        // a table: CPU time in allocation functions
};

struct ReportRequest {
  std::set<Section> sections{};
  // Moments (report/view/position.h); empty: not asked for.
  std::string at{}; // a tree of what was live then
  // A tree of what was allocated after one and still live at the other. One alone: from the start, or to the end.
  std::string from{}, to{};
  TreeOptions tree{}; // its measure is chosen by what the tree is about
  FrameFilter filter{};
  std::optional<Filter> where{}; // FilterOf::Blocks: only these are counted
  Suppressions suppressions{};   // leaks to leave out
  bool is_running = false;       // everything up to now is on the tape, and the program goes on
  bool show_runtime = false;     // the pools of runtimes are not set apart

  // Of Section::Leaks: which snapshot (see chosen_snapshot(); empty: that of the end, if there is one), what counts, and whether there is a
  // tree of what is lost.
  std::string leaks_at{};
  LeakWishes leak_wishes{};
  bool lost_tree = false;
  bool needs_leaks = false; // without such a snapshot there is no answer

  bool asks_for_parts() const { return !sections.empty() || !at.empty() || has_window(); }
  bool has_window() const { return !from.empty() || !to.empty(); }
};

struct ReportTree {
  std::string name;  // in JSON
  std::string title; // for people
  std::vector<StackCost> costs;
  Cost total{};
  TreeOptions options{};
  std::vector<RuntimePool> runtime{}; // set apart, and not in the total
  bool in_text = true;                // else in JSON only
};

struct ReportPage {
  std::optional<Overview> overview{};
  std::optional<AllocationCost> cost{};
  std::optional<LeakReport> leaks{};
  std::string leaks_hint{}; // what could be done to get them; empty: nothing
  std::vector<ReportTree> trees{};
  std::vector<Suppression> suppressions{}; // those that were of use
};

// A request that asks for no part gives the first page and trees of the peak and the leaks. With
// `where` there are trees alone, for the first page is about the whole run. An Error says which
// moment or profile is not on the tape.
Result<ReportPage> make_report(const TapeView& view, ReportRequest request);

} // namespace heaptape
