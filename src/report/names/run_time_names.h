// Names for frames in code that the program made at run time, from the files in which it names that code.
//
// Such code comes and goes, so one address may have had several names. A stack on the tape has no time of its own: its node stands for
// every event with these very return addresses. A node is named by what lay there when it was first used. That is right unless other
// code came to lie at the same address, was entered from the same callers, and called on at the same offset; where the recorder saw the
// code being unmapped, the stacks after that have another root, so even these are told apart (docs/tape-format.md, "Stacks").
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/run_time_files.h"
#include "tape/reader.h"
#include "tape/symbols.h"

namespace heaptape {

// What the files hold; empty: there is none.
struct RunTimeText {
  std::string perf_map{};
  std::vector<FileGrowth> growth{}; // of the perf map
  std::string jit_dump{};
};

// The code at an address, without frames, and the line there (0: not known).
struct RunTimePlace {
  RunTimeCode code{};
  std::uint32_t line = 0;
};
// What the text says of addresses in instructions, those that it names; of several functions at one place the last counts. Takes any text.
std::map<std::uint64_t, RunTimePlace> find_run_time_places(const RunTimeText& text,
                                                           std::vector<std::uint64_t> addresses);

// From the files on this machine, if they can be those of the tape's program: it runs, or they were last written while it ran.
RunTimeText find_run_time_text(const TapeReader& tape);

struct RunTimeNames {
  std::vector<RunTimeCode> codes{}; // only those with frames on the tape
  std::size_t addresses = 0;        // distinct ones on the tape that belong to no module
  std::size_t named = 0, lined = 0; // of these
};

// Takes any text, and asks for it only if there are such addresses. Reads the tape's events when one has had more than one name.
RunTimeNames name_run_time_code(const TapeReader& tape, const std::function<RunTimeText()>& text_of);

} // namespace heaptape
