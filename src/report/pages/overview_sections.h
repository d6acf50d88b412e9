// The lists of the first page: for each function what it never freed of all it made, whether that grows, what lived too shortly, what
// had to grow again and again. docs/guide/report.md says when a list is worth showing.
#pragma once

#include <string>
#include <vector>

#include "report/figures/costs.h"
#include "report/figures/worst.h"
#include "report/leaks/leak_report.h"
#include "report/select/frame_filter.h"
#include "report/select/runtime_pools.h"
#include "report/select/suppressions.h"
#include "report/text/json_writer.h"
#include "report/text/text_style.h"
#include "report/view/tape_view.h"

namespace heaptape {

struct OverviewSection {
  std::string name;  // "peak", "leaks", "growth", "short_lived", "regrown", "temporary", "allocations"
  std::string title; // for people
  std::string note;  // what the figures are and what to do about them; may be empty
  Measure measure = Measure::Bytes;
  Worst worst;
  std::vector<RuntimePool> runtime{}; // set apart; with the rows they add up to everything
};

struct OverviewRequest {
  Suppressions& suppressions; // their leaks are left out, and counted there
  FrameFilter& filter;
  bool is_running = false;           // everything up to now is on the tape, and the program goes on
  bool show_runtime = false;         // pools of runtimes stand among the functions
  const LeakReport* leaks = nullptr; // of the end; null: nobody knows what can still be reached
};
std::vector<OverviewSection> make_overview_sections(const TapeView& view, const OverviewRequest& request);

std::string section_text(const StackNames& names, const OverviewSection& section, const TextStyle& style);

} // namespace heaptape
