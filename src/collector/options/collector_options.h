// What the user may choose about a recording. Filled in by the command line or from HEAPTAPE_* variables.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "collector/options/live_options.h"
#include "collector/options/snapshot_options.h"
#include "wire/layout.h"

namespace heaptape {

struct CollectorResult;
class EventWatcher;
struct WatchedProgram;

// Makes the watcher that follows the recording (collector/events/event_watcher.h). An error: the recording cannot
// start.
using WatcherFactory = std::function<Result<std::unique_ptr<EventWatcher>>(const WatchedProgram&)>;

struct CollectorOptions {
  // Where the tape goes: %p pid, %n program name, %t start time (YYYYMMDD-HHMMSS), %% a percent sign.
  std::string tape = "heaptape.%n.%p.tape";
  // False: the user did not name the tape, so a name that is taken gets .2, .3, ... before its last dot instead of
  // refusing.
  bool tape_named = false;
  bool force = false;               // overwrite an existing tape
  bool write_tape = true;           // false: what is recorded goes to the watcher alone
  std::uint64_t max_tape_bytes = 0; // stop recording there; 0: no limit
  bool follow = false;              // children have collectors of their own
  // The folder in which all processes have their tapes, and a list of them (recording/run_list.h); placeholders as in
  // `tape`. Empty: there is none. With `run_begins` this is the first process: the folder is made, and one that exists
  // is treated as such a tape would be.
  std::string run{};
  bool run_begins = false;
  bool free_stacks = true;
  std::uint32_t max_depth = wire::kDefaultMaxDepth;
  wire::OnFull on_full = wire::OnFull::Wait;
  std::uint32_t cpu_hz =
      0;               // samples of the CPU profile per second of CPU time; 0: none until the program asks for them
  bool heap = true;    // record heap events
  bool crashes = true; // record what the program dies of
  bool quiet = false;  // no summary line; errors are still printed
  bool symbols = true; // put names of functions on the tape at the end
  bool index = true;   // and an index
  // Does that: called when the tape is complete, before the summary is printed. May be empty.
  std::function<void(CollectorResult&)> finish{};
  // Functions of the program's libraries that count as allocations, NAME[:size-arg[:count-arg]][=POOL], and those that
  // free what they returned, NAME[:ptr-arg]; see parse_functions().
  std::vector<std::string> alloc_functions{}, free_functions{};
  std::string check{};          // what the checks in the program are to do (check_text.h); empty: it runs without
  SnapshotTriggers snapshots{}; // when snapshots of memory are taken by themselves
  SnapshotBounds snapshot_bounds{};
  LiveOptions live{};     // what the watcher is to do
  WatcherFactory watch{}; // empty: no watcher
  // Asked in every round; true ends the recording in good order, and the program goes on. May be empty.
  std::function<bool()> should_stop{};
  // A command that is given a tape and an address and says what is there; for heaptape_where(). See WhereDesk.
  std::vector<std::string> where_command{};
  // Why this file cannot be recorded, as a sentence; empty: it is not known. May be empty itself.
  std::function<std::string(const std::string& path)> obstacle_of{};
  // For the tape's META; each may be empty. Command and program are used when /proc has nothing to say any more.
  std::string options_text; // the options as given
  std::string command;      // arguments, each terminated by a NUL byte
  std::string program;      // path of the executable

  std::uint32_t slot_count = wire::kDefaultSlotCount;
  std::uint32_t ring_records = wire::kDefaultRingRecords; // a power of two
};

} // namespace heaptape
