// The collector's life: wait for the program, drain its rings until it is gone, finish the tape.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "collector/control/control_server.h"
#include "collector/control/where_desk.h"
#include "collector/events/event_watcher.h"
#include "collector/observe/program_end.h"
#include "collector/options/collector_options.h"
#include "collector/recording/exec_door.h"
#include "collector/recording/recording.h"
#include "collector/rings/shared_memory.h"
#include "tape/contents.h"
#include "tape/writer.h"

namespace heaptape {

// Why the collector no longer follows the program.
enum class Left : std::uint8_t {
  Gone,      // it has ended
  Replaced,  // the process became another program, which may knock at the door
  Handed,    // it has started the program that was meant, which waits at the door
  Stopped,   // somebody asked for the end of the recording
  OutOfTime, // a limit on CPU time would soon end us
};

// How the program came about (wire::Hello), for the tape.
struct ProgramOrigin {
  wire::StartedBy started_by = wire::StartedBy::User;
  pid_t parent = 0;             // 0: as /proc has it
  std::string parent_tape{};    // the last part of its path; empty: there is none
  std::uint64_t started_ns = 0; // CLOCK_MONOTONIC; 0: not known
};

// What became of a recording.
struct CollectorResult {
  Left left = Left::Gone;
  bool attached = false; // the program loaded the recorder
  Summary summary;
  std::uint64_t cpu_samples = 0;
  std::uint64_t memory_errors = 0; // that the checks in the program found; also those that are not on the tape
  std::string tape;                // its path; empty: there is none
  UniqueFd tape_fd;                // the tape itself, whatever its name is by now; open for reading and writing
  std::string log;                 // of the watcher, likewise
  std::uint64_t tape_bytes = 0;
  std::string problem;   // one sentence when something went wrong, else empty
  bool told = false;     // the user has seen it already
  bool whole = true;     // all that was recorded is on the tape: names and index may follow
  std::string program{}; // its name
  pid_t pid = 0;
  std::string run{};                 // the folder that the tape is in, if that is a run's
  std::vector<std::string> before{}; // programs that the process was before, "NAME -> TAPE"
  std::vector<std::string> unseen{}; // sentences about what was meant, maybe, but is not on the tape
  std::string became{}; // path or name of a program that cannot be recorded, as the program noted it before its exec
  std::vector<std::string> remarks{}; // sentences for the user that are not problems of the recording
  ModuleFiles files{};                // held open, if options.finish is set
  RunTimeWatch run_time{};            // likewise
};

class Collector {
public:
  // The caller has prepared the process (prepare_collector_process). The program's pid may be 0: any program that
  // attaches.
  Collector(const CollectorOptions& options, SharedMemory memory, pid_t program, std::string program_name,
            ProgramOrigin origin = {});

  // Before create_tape(): where the program may knock after exec, or its child, if that is meant. May be null.
  void set_door(ExecDoor* door, bool follow_child);

  // Creates the tape, the watcher and the control socket, as far as they are wanted; needed before run() unless the pid
  // is 0. `program_pid` is used for their names.
  Result<> create_tape(pid_t program_pid);
  const std::string& tape_path() const { return tape_path_; }
  const std::string& run_folder() const { return run_folder_; }
  int memory_fd() const { return memory_.fd(); }
  // After create_tape(): a sentence when there is no control socket.
  const std::string& unreachable() const { return unreachable_; }

  // Opens what will show the program's end, while it waits for us; later a short program may be gone before we look.
  void hold_program();
  // `end` watches the program, from now on if not before; its wake() leads to ours. `tell` shows the user a problem that
  // cannot wait for the end (the tape takes no more, while the program runs on). Returns when the program is gone, or is
  // followed no longer, and the tape is finished.
  using Tell = std::function<void(const std::string& sentence)>;
  CollectorResult run(ProgramEnd& end, const Tell& tell);
  // The same for a program that becomes no other. `link`: the launcher's socket, or none.
  CollectorResult run(UniqueFd link, const Tell& tell);
  void wake(); // from any thread
  // The last call: nobody may wake us any more. The mutex in it is held until the process ends.
  SharedMemory give_up_memory() { return std::move(memory_); }
  const std::string& program_name() const { return program_name_; }

private:
  bool wait_for_program(ProgramEnd& end);
  CollectorResult record(ProgramEnd& end, const Tell& tell);
  Left follow(Recording& recording, ProgramEnd& end, CollectorResult& result, const Tell& tell);
  void serve(Recording& recording, WhereDesk& desk);
  ControlReply reply_to(const ControlRequest& request, Recording& recording);
  Result<> create_watcher(const WatchedProgram& program);
  void stop_program(ProgramEnd& end, std::uint64_t now_ns);
  CollectorResult not_attached(ProgramEnd& end);
  std::uint32_t wakes() const;                      // how often somebody has woken us
  void sleep(std::uint64_t ns, std::uint32_t seen); // unless somebody has woken us since then
  std::optional<Left> see_to_door();
  void leave_word();
  void take_unseen(Recording& recording, CollectorResult& result);
  std::uint64_t rest_after(const Round& round, std::uint64_t since_last_ns, bool quiet);
  void release_program();
  Meta known_facts() const;

  const CollectorOptions& options_;
  SharedMemory memory_;
  pid_t program_;
  std::string program_name_;
  ProgramOrigin origin_;
  ExecDoor* door_ = nullptr;
  bool follow_child_ = false;
  UniqueFd program_fd_; // pidfd of the program, until it is watched
  UniqueFd executable_; // the program's file, if its names are wanted at the end
  std::optional<TapeWriter> writer_;
  std::unique_ptr<EventWatcher> watcher_;
  bool created_ = false; // the tape and the watcher, if wanted
  Tell tell_{};
  std::uint64_t kill_at_ns_ = 0; // after the program was asked to end: when to kill it
  std::string tape_path_;
  std::string run_folder_; // of a run, else empty
  std::uint64_t tape_start_ns_ = 0;
  std::uint64_t tape_start_realtime_ns_ = 0;
  bool stop_asked_ = false;
  std::uint64_t last_rest_ns_ = 0;
  // Null: nobody can ask. Outlives run(), so that a client's `stop` waits for the whole tape.
  std::unique_ptr<ControlServer> control_;
  std::string unreachable_; // why it is null
};

} // namespace heaptape
