// meter OUT.json TIMEOUT_S ADDRESS_SPACE_BYTES COMMAND [ARGS...]
//
// Runs a command and measures every process that comes out of it, also those that detach: wall time, CPU time, peak
// memory. A recorder is several processes (launcher, program, collector, compressor) and only the sum is its price,
// while only the program's part is what the program feels, so both are needed from the same run.
//
// The meter traces the processes, but asks for fork, exec and exit stops only: between those nothing of it runs. The
// kernel then hands the tracer each process's final resource usage, whoever the real parent is. Threads are not traced;
// their usage is part of their process. As a child subreaper the meter also waits for orphans.
//
// TIMEOUT_S 0 means none; when it is over, everything is killed. ADDRESS_SPACE_BYTES 0 means no limit.
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

struct Process {
  pid_t parent = 0;
  std::string executable;       // after its last exec; its parent's before that
  std::string arguments;        // of the last exec, separated by spaces
  std::uint64_t started_ns = 0; // its last exec, or its fork when there was none
  std::uint64_t ended_ns = 0;   // 0: running
  std::uint64_t cpu_us = 0;     // its own and that of the children it waited for
  long max_rss_kb = 0;
  long exit_anonymous_kb = 0; // private memory when it began to exit
  long exit_shared_kb = 0;    // shared memory and files, at the same moment
  int status = 0;
};

std::map<pid_t, Process> g_processes;
volatile sig_atomic_t g_timed_out = 0;

std::uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

std::uint64_t cpu_us(const rusage& usage) {
  const auto us = [](const timeval& t) {
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000u + static_cast<std::uint64_t>(t.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

std::string proc_path(pid_t pid, const char* name) { return "/proc/" + std::to_string(pid) + "/" + name; }

std::string read_small_file(const std::string& path) {
  std::string text;
  if (FILE* file = std::fopen(path.c_str(), "r")) {
    char buffer[4096];
    text.assign(buffer, std::fread(buffer, 1, sizeof buffer, file));
    std::fclose(file);
  }
  return text;
}

long status_field(const std::string& status, const char* name) {
  const auto at = status.find(name);
  return at == std::string::npos ? 0 : std::strtol(status.c_str() + at + std::strlen(name), nullptr, 10);
}

void note_exec(pid_t pid) {
  Process& process = g_processes[pid];
  char target[4096];
  const ssize_t size = readlink(proc_path(pid, "exe").c_str(), target, sizeof target);
  if (size > 0) process.executable.assign(target, static_cast<std::size_t>(size));
  process.arguments = read_small_file(proc_path(pid, "cmdline"));
  for (char& c : process.arguments) {
    if (c == '\0') c = ' ';
  }
  process.started_ns = now_ns();
}

void note_exit_begins(pid_t pid) {
  const std::string status = read_small_file(proc_path(pid, "status"));
  Process& process = g_processes[pid];
  process.exit_anonymous_kb = status_field(status, "RssAnon:");
  process.exit_shared_kb = status_field(status, "RssShmem:") + status_field(status, "RssFile:");
}

void note_end(pid_t pid, int status, const rusage& usage) {
  Process& process = g_processes[pid];
  if (process.ended_ns != 0) return; // a traced orphan is reported twice: to its tracer, then to its new parent
  process.ended_ns = now_ns();
  process.status = status;
  process.cpu_us = cpu_us(usage);
  process.max_rss_kb = usage.ru_maxrss;
}

void go_on(pid_t pid, int signal) { ptrace(PTRACE_CONT, pid, nullptr, static_cast<std::uintptr_t>(signal)); }

void handle_stop(pid_t pid, int status) {
  const int signal = WSTOPSIG(status);
  const int event = status >> 16;
  unsigned long message = 0;
  switch (event) {
  case PTRACE_EVENT_FORK:
  case PTRACE_EVENT_VFORK:
  case PTRACE_EVENT_CLONE:
    ptrace(PTRACE_GETEVENTMSG, pid, nullptr, &message);
    if (message != 0) {
      Process& child = g_processes[static_cast<pid_t>(message)];
      child.parent = pid;
      if (child.executable.empty()) child.executable = g_processes[pid].executable;
      if (child.started_ns == 0) child.started_ns = now_ns();
    }
    return go_on(pid, 0);
  case PTRACE_EVENT_EXEC: note_exec(pid); return go_on(pid, 0);
  case PTRACE_EVENT_EXIT: note_exit_begins(pid); return go_on(pid, 0);
  case PTRACE_EVENT_STOP:
    if (signal == SIGTRAP) return go_on(pid, 0);  // a new child
    ptrace(PTRACE_LISTEN, pid, nullptr, nullptr); // stopped by job control, and stays so
    return;
  default: return go_on(pid, signal);
  }
}

pid_t start(char** command, std::uint64_t address_space) {
  int gate[2];
  if (pipe(gate) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    close(gate[1]);
    char byte;
    if (read(gate[0], &byte, 1) != 1) _exit(126);
    close(gate[0]);
    if (address_space != 0) {
      const rlimit limit{address_space, address_space};
      setrlimit(RLIMIT_AS, &limit);
    }
    execvp(command[0], command);
    std::fprintf(stderr, "meter: %s: %s\n", command[0], std::strerror(errno));
    _exit(127);
  }
  close(gate[0]);
  // No clone stops: threads would stop for us each time one starts.
  const long options = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT;
  if (child > 0 && ptrace(PTRACE_SEIZE, child, nullptr, options) != 0) std::perror("meter: ptrace");
  g_processes[child].started_ns = now_ns();
  if (write(gate[1], "x", 1) != 1) return -1;
  close(gate[1]);
  return child;
}

void kill_everything() {
  for (const auto& [pid, process] : g_processes) {
    if (process.ended_ns == 0) kill(pid, SIGKILL);
  }
}

// Waits until nothing is left; returns when the command itself ended.
std::uint64_t watch(pid_t command) {
  std::uint64_t command_ended_ns = 0;
  for (;;) {
    int status = 0;
    rusage usage{};
    const pid_t pid = wait4(-1, &status, __WALL, &usage);
    if (pid < 0 && errno == EINTR) {
      if (g_timed_out != 0) kill_everything();
      continue;
    }
    if (pid < 0) return command_ended_ns;
    if (WIFSTOPPED(status)) {
      handle_stop(pid, status);
      continue;
    }
    note_end(pid, status, usage);
    if (pid == command) command_ended_ns = now_ns();
  }
}

void write_json_string(FILE* out, const std::string& text) {
  std::fputc('"', out);
  for (const char c : text) {
    if (c == '"' || c == '\\') std::fputc('\\', out);
    if (static_cast<unsigned char>(c) >= 0x20) std::fputc(c, out);
  }
  std::fputc('"', out);
}

bool write_result(const char* path, pid_t command, std::uint64_t begin_ns, std::uint64_t command_ended_ns) {
  FILE* out = std::fopen(path, "w");
  if (out == nullptr) return false;
  rusage all{};
  getrusage(RUSAGE_CHILDREN, &all);
  std::fprintf(out, "{\"wall_ns\": %" PRIu64 ", \"all_gone_ns\": %" PRIu64 ", \"cpu_us\": %" PRIu64 ", ",
               command_ended_ns - begin_ns, now_ns() - begin_ns, cpu_us(all));
  std::fprintf(out, "\"timed_out\": %s, \"command\": %d,\n \"processes\": [", g_timed_out ? "true" : "false", command);
  const char* separator = "\n  ";
  for (const auto& [pid, process] : g_processes) {
    std::fprintf(out, "%s{\"pid\": %d, \"parent\": %d, \"status\": %d, \"cpu_us\": %" PRIu64, separator, pid,
                 process.parent, process.status, process.cpu_us);
    std::fprintf(out,
                 ", \"max_rss_kb\": %ld, \"exit_anonymous_kb\": %ld, \"exit_shared_kb\": %ld, \"wall_ns\": %" PRIu64,
                 process.max_rss_kb, process.exit_anonymous_kb, process.exit_shared_kb,
                 process.ended_ns > process.started_ns ? process.ended_ns - process.started_ns : 0);
    std::fprintf(out, ", \"executable\": ");
    write_json_string(out, process.executable);
    std::fprintf(out, ", \"arguments\": ");
    write_json_string(out, process.arguments);
    std::fprintf(out, "}");
    separator = ",\n  ";
  }
  std::fprintf(out, "\n]}\n");
  return std::fclose(out) == 0;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: meter OUT.json TIMEOUT_S ADDRESS_SPACE_BYTES COMMAND [ARGS...]\n");
    return 125;
  }
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  struct sigaction on_alarm {};
  on_alarm.sa_handler = [](int) { g_timed_out = 1; }; // without SA_RESTART, so that wait4 returns
  sigaction(SIGALRM, &on_alarm, nullptr);
  const std::uint64_t begin_ns = now_ns();
  const pid_t command = start(argv + 4, std::strtoull(argv[3], nullptr, 10));
  if (command < 0) return 125;
  const auto timeout_s = static_cast<time_t>(std::strtol(argv[2], nullptr, 10));
  if (timeout_s != 0) {
    // Repeats, in case something was forked while we were killing.
    const itimerval timer{{0, 100'000}, {timeout_s, 0}};
    setitimer(ITIMER_REAL, &timer, nullptr);
  }
  const std::uint64_t command_ended_ns = watch(command);
  if (!write_result(argv[1], command, begin_ns, command_ended_ns)) return 125;
  const int status = g_processes[command].status;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
