// Odd calls in words: releases of what is not a block, pairs that do not match, allocations that failed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/moment/odd_findings.h"
#include "report/names/stack_names.h"
#include "report/text/json_writer.h"
#include "report/view/tape_view.h"
#include "tape/reader.h"

namespace heaptape {

// As programs read it: "double-free", "free-inside-block", "free-of-stack", "free-of-static", "free-of-unknown", "mismatch", "wrong-size",
// "failed".
const char* odd_sort_name(OddSort sort);

// What the call did, to stand behind "event 12 ": "frees 0x7ffd10, which lies on the stack of thread 1".
std::string odd_sentence(const OddFinding& finding);
// Of a call that failed: "malloc of 100 bytes".
std::string asked_text(const OddCall& call);
// "event 12", or "after event 11" for a call that is not an event.
std::string odd_place(const OddCall& call);
// The function that made the block, as far as its family says: "malloc", "new", "new[]".
const char* family_name(Family family);

// Without the pairs that only look like mismatches: a library that has the C++ runtime built in calls malloc and free from operators of
// its own, which the names of the innermost functions show.
std::vector<OddFinding> without_other_runtimes(const TapeReader& tape, StackNames& names,
                                               std::vector<OddFinding> findings);

// How many of each kind, as the recording saw them, under names for programs: "failed", "not_live", "mismatch", "wrong_size", "unfinished",
// "left_out"; only those that are not 0. Reads no events.
std::vector<std::pair<const char*, std::uint64_t>> odd_counts(const OddCalls& odd);
// The same in words: "2 failed allocations, 1 mismatched pair"; empty: none.
std::string odd_counts_text(const OddCalls& odd);

// One line for each sort of odd call, and of mismatch; the sorts in order.
struct OddLine {
  OddSort sort = OddSort::NotKnown;
  std::uint64_t count = 0;
  OddFinding first;
  std::string sentence; // "3 blocks from new[] were released by free; first at event 812 in load x.cpp:12"
};
std::vector<OddLine> odd_lines(StackNames& names, const std::vector<OddFinding>& findings);
// All of a tape at once; where there is nothing odd it costs nothing.
std::vector<OddLine> odd_lines(const TapeView& view);

// An array of objects with sort, count, event, function and sentence.
void write_odd_lines(JsonWriter& json, StackNames& names, const std::vector<OddLine>& lines);

} // namespace heaptape
