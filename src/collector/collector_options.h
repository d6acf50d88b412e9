// What the user may choose about a recording. Filled in by the command line or from HEAPTAPE_* variables.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "wire/layout.h"

namespace heaptape {

struct CollectorResult;

struct CollectorOptions {
  // Where the tape goes: %p pid, %n program name, %t start time (YYYYMMDD-HHMMSS), %% a percent sign.
  std::string tape = "heaptape.%n.%p.tape";
  // False: the user did not name the tape, so a name that is taken gets .2, .3, ... before its last dot instead of refusing.
  bool tape_named = false;
  bool force = false;               // overwrite an existing tape
  std::uint64_t max_tape_bytes = 0; // stop recording there; 0: no limit
  bool free_stacks = true;
  std::uint32_t max_depth = wire::kDefaultMaxDepth;
  wire::OnFull on_full = wire::OnFull::Wait;
  bool quiet = false;  // no summary line; errors are still printed
  bool symbols = true; // put names of functions on the tape at the end
  bool index = true;   // and an index
  // Does that: called when the tape is complete, before the summary is printed. May be empty.
  std::function<void(CollectorResult&)> finish{};
  // Asked in every round; true ends the recording in good order, and the program goes on. May be empty.
  std::function<bool()> should_stop{};
  // A command that is given a tape and an address and says what is there; for heaptape_where(). See AnswerDesk.
  std::vector<std::string> where_command{};
  // For the tape's META; each may be empty. Command and program are used when /proc has nothing to say any more.
  std::string options_text; // the options as given
  std::string command;      // arguments, each terminated by a NUL byte
  std::string program;      // path of the executable

  std::uint32_t slot_count = wire::kDefaultSlotCount;
  std::uint32_t ring_records = wire::kDefaultRingRecords; // a power of two
};

} // namespace heaptape
