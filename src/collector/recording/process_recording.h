// One process from its start to its end, with all the programs that it becomes by exec: a collector and a tape for each, one after the other.
//
//   heaptape record -o x.tape env A=1 ./server        x.1-env.tape   env, up to its exec
//                                                     x.tape         ./server: a name belongs to the last program
//
// A program such as `timeout`, which starts the one that was meant in a child, hands the recording over to that child.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "collector/options/collector_options.h"
#include "collector/recording/collector.h"
#include "collector/recording/exec_door.h"
#include "collector/rings/shared_memory.h"

namespace heaptape {

// Whether a program of this name does nothing but start another one, in a child.
bool is_starter(std::string_view name);

class ProcessRecording {
public:
  // The caller has prepared the process (prepare_collector_process); the arguments are those of the first Collector. `options` must outlive it.
  ProcessRecording(const CollectorOptions& options, SharedMemory memory, pid_t program, std::string name,
                   ProgramOrigin origin);
  ~ProcessRecording();

  // For create_tape() and so on, before run().
  Collector& first() { return *current_; }

  // Records until the process has ended, or nothing is recorded any more. The result is the last program's; its tape is not finished by
  // options.finish, those of the programs before it are. Remarks name them, and a program that could not be recorded.
  CollectorResult run(UniqueFd link, const Collector::Tell& tell);

private:
  struct Earlier {
    std::string name, tape;
    std::vector<std::string> unseen;
    pid_t finisher = 0; // a process that puts names and an index onto the tape; 0: it is done
  };

  void become(std::unique_ptr<Collector> next);
  void retire(Left left);
  void wake();
  std::optional<Visitor> next_program(const ProgramEnd& end, Left left);
  bool take_in(Visitor visitor, CollectorResult& before);
  void put_away(CollectorResult result);
  void await_finishers();
  CollectorResult last(CollectorResult result);

  const CollectorOptions& given_;
  std::mutex mutex_;                                       // of current_, which two threads wake
  std::vector<std::unique_ptr<CollectorOptions>> options_; // of each program but the first
  std::vector<SharedMemory> emptied_;                      // of programs that were before
  std::unique_ptr<ExecDoor> door_;
  std::unique_ptr<Collector> current_;
  pid_t program_;
  std::vector<Earlier> earlier_;
  std::string unrecorded_; // the program that the process is now, if that is not recorded
};

} // namespace heaptape
