#include "collector/launch/launcher.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "base/number_text.h"
#include "base/signal_name.h"
#include "base/unique_fd.h"
#include "collector/launch/inherited_state.h"
#include "collector/launch/signal_relay.h"
#include "collector/recording/collector_process.h"
#include "collector/recording/summary_text.h"
#include "collector/rings/shared_memory.h"
#include "tape/reader.h"

namespace heaptape {
namespace {

// Shells and scripts use low numbers for themselves.
constexpr int kFirstHighFd = 100;

struct Pipe {
  UniqueFd read_end, write_end;
};

Error system_error(const std::string& what) { return {ErrorCode::Exhausted, what + ": " + std::strerror(errno)}; }

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// A copy of the descriptor that programs inherit, out of their way as far as the limit on descriptors allows.
UniqueFd inheritable_copy(int fd) {
  UniqueFd copy(::fcntl(fd, F_DUPFD, kFirstHighFd));
  if (!copy) copy.reset(::fcntl(fd, F_DUPFD, STDERR_FILENO + 1));
  return copy;
}

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// A program's argument vectors, made before the fork: after it no memory may be allocated.
struct ExecArguments {
  explicit ExecArguments(const Program& program, const std::vector<std::string>& environment)
      : path(program.path.c_str()), arguments(pointers_to(program.arguments)),
        variables(pointers_to(environment)), for_shell{const_cast<char*>("/bin/sh"), const_cast<char*>(path)} {
    for_shell.insert(for_shell.end(), arguments.begin() + 1, arguments.end());
  }

  // Returns only when it fails, with errno. A file that is not a program is given to the shell, as execvp does.
  void execute() const {
    ::execve(path, arguments.data(), variables.data());
    if (errno == ENOEXEC) ::execve(for_shell.front(), for_shell.data(), variables.data());
  }

  const char* path;
  std::vector<char*> arguments, variables, for_shell;
};

LaunchOutcome not_executed(const std::string& name, const std::string& path, int reason) {
  const bool missing = reason == ENOENT || reason == ENOTDIR;
  // The file was there a moment ago, so it is what the file itself asks for that is missing.
  const bool wants_interpreter = missing && ::access(path.c_str(), F_OK) == 0;
  return {missing ? kNotFound : kCannotExecute,
          name + ": " + (wants_interpreter ? "the interpreter it asks for does not exist" : std::strerror(reason))};
}

std::string working_directory() {
  const std::unique_ptr<char, decltype(&std::free)> directory(::getcwd(nullptr, 0), std::free);
  return directory ? std::string(directory.get()) : std::string(".");
}

// The program before it is one: a forked child that waits for permission to exec.
class PendingProgram {
public:
  static Result<PendingProgram> start(const Program& program, const std::vector<std::string>& environment,
                                      const InheritedState& inherited) {
    Result<Pipe> permission = make_pipe();
    Result<Pipe> failure = make_pipe();
    if (!permission) return permission.error();
    if (!failure) return failure.error();
    const ExecArguments exec(program, environment);
    const pid_t pid = ::fork();
    if (pid < 0) return system_error("cannot start a process");
    if (pid == 0) {
      permission.value().write_end.reset();
      // Killed while it waits: the program is, too.
      inherited.restore_for_program();
      char go[PIPE_BUF] = {};
      if (::read(permission.value().read_end.get(), go, sizeof go - 1) < 1) ::_exit(0);
      if (go[1] != 0) {
        std::vector<std::string> in_run = environment; // there is one thread, so memory may be allocated here
        in_run.push_back("HEAPTAPE_RUN=" + std::string(go + 1));
        ExecArguments(program, in_run).execute();
      } else {
        exec.execute();
      }
      const int reason = errno;
      (void)!::write(failure.value().write_end.get(), &reason, sizeof reason);
      // Not before the collector knows that there is nothing to record.
      (void)!::read(permission.value().read_end.get(), go, 1);
      ::_exit(kNotFound);
    }
    return PendingProgram(pid, std::move(permission.value().write_end), std::move(failure.value().read_end));
  }

  pid_t pid() const { return pid_; }

  // 0: it runs. Else the errno of exec, or -1 when it was killed before. `run`: the folder of its run, absolute; empty: there is none.
  int let_go(const std::string& run) {
    const std::string go = "\1" + run;
    const bool waiting = ::write(permission_.get(), go.data(), go.size()) == static_cast<ssize_t>(go.size());
    int reason = 0;
    const ssize_t got = ::read(failure_.get(), &reason, sizeof reason); // nothing when exec closed the other end
    if (waiting && got == 0) return 0;
    return got == static_cast<ssize_t>(sizeof reason) ? reason : -1;
  }

  // Ends it before it runs, or collects it after it failed to.
  int reap() {
    permission_.reset();
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {}
    return status;
  }

private:
  PendingProgram(pid_t pid, UniqueFd permission, UniqueFd failure)
      : pid_(pid), permission_(std::move(permission)), failure_(std::move(failure)) {}

  pid_t pid_;
  UniqueFd permission_, failure_;
};

struct Prepared {
  CollectorProcess collector;
  UniqueFd memory_fd; // inherited by the program
  std::vector<std::string> environment;
};

// The memory is mapped only while the collector is forked: the program's fork is quicker without it.
Result<Prepared> prepare(const Launch& launch) {
  Result<SharedMemory> memory = SharedMemory::create(launch.options.collector);
  if (!memory) return memory.error();
  Result<CollectorProcess> collector = CollectorProcess::start(launch.options.collector, memory.value());
  if (!collector) return collector.error();
  UniqueFd fd = inheritable_copy(memory.value().fd());
  if (!fd) {
    const Error error = system_error("cannot hand the shared memory to the program");
    collector.value().cancel();
    return error;
  }
  const RecorderLink link{.library = launch.library,
                          .heaptape = launch.heaptape,
                          .directory = working_directory(),
                          .memory = RecorderLink::Memory{fd.get(), memory.value().key()}};
  auto environment = with_variables(environ, recorder_variables(launch.options, link, std::getenv("LD_PRELOAD")));
  return Prepared{std::move(collector).value(), std::move(fd), std::move(environment)};
}

// What is left of a recording whose collector was killed.
std::string killed_text(int signal, const std::string& tape) {
  std::string text = "the collector was killed by " + signal_name(signal);
  if (tape.empty()) return text + "; nothing more is recorded";
  const Result<TapeReader> left = TapeReader::open(tape);
  if (!left) return text + "; nothing is left of the tape: " + left.error().sentence;
  if (left.value().summary())
    return text + " when the tape " + tape +
           " was complete; names and index may be missing: 'heaptape symbolize' and "
           "'heaptape index' add them";
  const auto& chunks = left.value().event_chunks();
  const std::uint64_t last_us = chunks.empty() ? 0 : chunks.back().last_us;
  return text + "; the program goes on unrecorded. The tape " + tape + " ends there: it holds " +
         count_of(left.value().event_count(), "event") + ", up to " +
         decimal_text(static_cast<double>(last_us) / 1e6, 2) + " s; what came later, names and index are missing";
}

// The folder of the run that the tape is in, as programs elsewhere can find it.
std::string run_of(const Launch& launch, const std::string& tape) {
  if (launch.options.collector.run.empty() || tape.empty()) return {};
  std::string folder = std::filesystem::absolute(tape).parent_path().lexically_normal();
  return folder.size() + 2 < PIPE_BUF ? folder : std::string();
}

} // namespace

int exit_status_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

Result<LaunchOutcome> launch(const Launch& launch) {
  InheritedState inherited;
  inherited.hold_signals();
  // The caller may still run the program in another way.
  const auto give_up = [&](const Error& error) {
    inherited.restore_for_program();
    return error;
  };
  Result<Prepared> prepared = prepare(launch);
  if (!prepared) return give_up(prepared.error());
  CollectorProcess& collector = prepared.value().collector;
  const auto call_off = [&] {
    collector.cancel();
    (void)collector.wait();
  };

  Result<PendingProgram> program = PendingProgram::start(launch.program, prepared.value().environment, inherited);
  prepared.value().memory_fd.reset();
  if (!program) {
    call_off();
    return give_up(program.error());
  }
  const Result<std::string> tape = collector.open_tape(program.value().pid(), launch.name);
  if (!tape) {
    program.value().reap();
    call_off();
    return give_up(tape.error());
  }
  if (launch.started) launch.started(tape.value());
  if (inherited.asked_to_end()) {
    call_off();
    program.value().reap();
    inherited.let_signals_act();
  }
  if (const int reason = program.value().let_go(run_of(launch, tape.value())); reason != 0) {
    call_off();
    const int status = program.value().reap();
    if (reason < 0) return LaunchOutcome{exit_status_of(status), ""};
    return not_executed(launch.name, launch.program.path, reason);
  }

  bool told = false;
  const auto tell_if_killed = [&] {
    if (told || !collector.is_killed()) return;
    told = true;
    print_line(killed_text(collector.killed_by(), tape.value()));
  };
  const int status = wait_and_relay(program.value().pid(), tell_if_killed);
  inherited.drop_signals();
  inherited.let_signals_act(); // so that an impatient user can leave; the collector finishes by itself
  collector.program_ended(status);
  (void)collector.wait(); // it has said what went wrong, if it could; our status is the program's
  tell_if_killed();
  return LaunchOutcome{exit_status_of(status), ""};
}

LaunchOutcome run_unrecorded(const Program& program, const char* const* environment) {
  std::vector<std::string> variables;
  for (; *environment != nullptr; ++environment) variables.emplace_back(*environment);
  ExecArguments(program, variables).execute();
  return not_executed(program.arguments.front(), program.path, errno);
}

} // namespace heaptape
