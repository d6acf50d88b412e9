// What every export is made from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/index/index.h"
#include "analysis/moment/cpu_times.h"
#include "report/figures/worst.h"
#include "report/names/stack_names.h"
#include "tape/contents.h"
#include "tape/reader.h"

namespace heaptape {

// All of it outlives the export.
// A list of functions that stand out, as the first page has it.
struct ExportList {
  std::string title, note; // "Regrown"; what the figures are and what to do about them
  Measure measure = Measure::Bytes;
  Worst worst{};
};

struct ExportInput {
  const TapeReader& tape;
  const Index& index;
  StackNames& names; // in the form that was asked for
  const std::vector<Mark>& marks;
  const std::vector<StackTime>* cpu = nullptr; // of the formats that know CPU time: it, and not the heap
  bool fold_plumbing = false; // html and folded: leave out what works for others (report/names/charged_function.h)

  std::vector<ExportList> lists{}; // html: shown above the pictures

  const Findings& findings() const { return index.findings; }
};

// The program's command line, its arguments joined with blanks; "?" when the tape does not say.
std::string command_of(const TapeReader& tape);
// When the run ended: its last event, its last sample or its summary, whichever is latest.
std::uint64_t duration_us(const ExportInput& input);

// The text without what would break a format of one line per thing: control characters become '?', and so does each of
// `others`.
std::string one_line(std::string_view text, std::string_view others = {});

// What stands for frames that are not there, in formats that know nothing but functions: "[no stack]" when there is
// none at all, "[cut]" or "[too deep]" outside the outermost frame known; empty: the stack is whole.
std::string_view stand_in(StackEnd end, bool has_frames);

} // namespace heaptape
