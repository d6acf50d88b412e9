#include "cli/beside/finish_tape.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "analysis/index/index.h"
#include "analysis/moment/inherit.h"
#include "cli/beside/recorder_library.h"
#include "cli/terminal/console.h"
#include "cli/terminal/progress.h"
#include "collector/control/control_client.h"
#include "report/crash/crash_line.h"
#include "report/names/finish_tape.h"
#include "report/names/stack_names.h"

namespace heaptape::cli {

namespace {

// What the program's parent did up to the fork may not be on its tape yet.
Result<TapeReader> open_parent_tape(const std::string& folder, const ForkOrigin& origin) {
  const std::string path = folder + "/" + origin.parent_tape;
  constexpr unsigned kTries = 40;
  for (unsigned tries = 0;; ++tries) {
    Result<TapeReader> tape = TapeReader::open(path);
    if (!tape || tries == kTries || tape.value().summary() || find_fork(tape.value(), origin)) return tape;
    // Its collector writes it out, or has just been told that the program ended and is about to.
    if (!flush_tape(static_cast<pid_t>(origin.parent_pid)) || tries != 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

// Whoever holds it may use much memory: of a hundred children that end at once, one after the other does. Not waited for
// for ever, since one may be stopped.
UniqueFd take_turn(const std::string& folder) {
  UniqueFd turn(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  constexpr int kTries = 12'000;
  for (int tries = 0; turn && tries < kTries && ::flock(turn.get(), LOCK_EX | LOCK_NB) != 0; ++tries) ::usleep(10'000);
  return turn;
}

void add_inherited(const CollectorResult& result) {
  const std::size_t slash = result.tape.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : result.tape.substr(0, slash);
  UniqueFd turn;
  // A parent without a tape has nothing to tell, which is no trouble: releases of such blocks stay unknown.
  (void)append_inherited({result.tape, result.tape_fd.get()}, [&](const ForkOrigin& origin) {
    if (!turn) turn = take_turn(folder);
    return open_parent_tape(folder, origin);
  });
}

void add_names(const CollectorResult& result) {
  ProgressLine progress("looking up names");
  AddSymbols how;
  how.fd_of = [&](const std::string& path, const std::vector<std::uint8_t>& build_id) {
    return result.files.fd_of(path, build_id);
  };
  how.run_time = [&](const TapeReader&) {
    const RunTimeFile &map = result.run_time.perf_map(), &dump = result.run_time.jit_dump();
    return RunTimeText{.perf_map = map.fd ? read_run_time_file(map.fd.get()) : std::string(),
                       .growth = map.growth,
                       .jit_dump = dump.fd ? read_run_time_file(dump.fd.get()) : std::string()};
  };
  how.progress = [&](std::string_view path, std::size_t done, std::size_t all) { progress.show(done, all, path); };
  if (const auto added = add_symbols({result.tape, result.tape_fd.get()}, how); !added) say(added.error().sentence);
}

void add_index(const CollectorResult& result) {
  ProgressLine progress("indexing");
  MakeIndex how;
  how.progress = [&](std::uint64_t done, std::uint64_t all) { progress.show(done, all); };
  if (const auto added = append_index({result.tape, result.tape_fd.get()}, how); !added) say(added.error().sentence);
}

// What the program died of is the last thing that is said.
void add_crash(CollectorResult& result) {
  if (result.summary.ending != Ending::Killed && result.summary.ending != Ending::Unknown) return;
  const Result<TapeReader> tape = TapeReader::open(result.tape);
  if (!tape || tape.value().crash() == nullptr) return;
  const TapeReader& opened = tape.value();
  StackNames names(opened.modules(), opened.stacks(), opened.symbols(), NameForm::Short);
  result.remarks.push_back("died of " + crash_line(opened, names) + ": heaptape crash " + result.tape);
}

} // namespace

std::vector<std::string> where_command() {
  const bool has_proc = ::access("/proc/self/exe", X_OK) == 0;
  const Result<std::string> path = has_proc ? Result<std::string>("/proc/self/exe") : own_path();
  if (!path) return {};
  return {path.value(), "where", "--color", "never"};
}

std::function<void(CollectorResult&)> tape_finisher(const CollectorOptions& options) {
  const bool symbols = options.symbols, index = options.index;
  return [symbols, index](CollectorResult& result) {
    if (!result.tape_fd) return;
    add_inherited(result);
    if (symbols) add_names(result);
    if (index) add_index(result);
    add_crash(result);
    struct stat facts {};
    if (::fstat(result.tape_fd.get(), &facts) == 0) result.tape_bytes = static_cast<std::uint64_t>(facts.st_size);
  };
}

} // namespace heaptape::cli
