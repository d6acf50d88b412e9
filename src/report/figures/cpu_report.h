// The CPU profile of a tape for people and programs: what used the time, as a table of functions and as a tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/moment/cpu_times.h"
#include "report/figures/call_tree.h"
#include "report/select/frame_filter.h"
#include "report/text/json_writer.h"
#include "report/text/text_style.h"
#include "report/view/tape_view.h"

namespace heaptape {

struct CpuOptions {
  CpuSelection selection{};
  TreeOptions tree{.direction = TreeDirection::TopDown};
  bool expand = false;
  bool without_recorder = false; // leave out samples in the recorder's own code
  std::size_t rows = 15;         // of the table; 0: no table
};

// Costs as trees and exports take them: bytes are microseconds of CPU time, blocks are periods.
std::vector<StackCost> cpu_costs(const std::vector<StackTime>& times);

// A function, file or module, as CpuOptions::tree.by says.
struct CpuRow {
  FrameId frame{}; // the one with most time of its own, else most in all
  std::string name;
  CpuTime self{};  // it was running itself
  CpuTime total{}; // it, or what it called; a recursion counts once
};

struct CpuReport {
  std::vector<StackTime> times; // that were accepted
  CpuTime all{};
  CpuTime recorder{};                                // of it, in the recorder's own code
  std::vector<std::pair<ThreadId, CpuTime>> threads; // most time first
  std::vector<CpuRow> rows;                          // most of its own first; all of them
};

CpuReport make_cpu_report(const TapeView& view, const CpuOptions& options, FrameFilter& filter);

// Why there is nothing to show: no profile at all, or no such segment (0: none was named), or nothing in it.
std::string no_cpu_sentence(const TapeReader& tape, std::uint32_t segment);

std::string cpu_text(const TapeView& view, const CpuReport& report, const CpuOptions& options, const TextStyle& style);
void write_cpu_json(JsonWriter& json, const TapeView& view, const CpuReport& report, const CpuOptions& options);

} // namespace heaptape
