// heaptape: finds the command and runs it.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/near_word.h"
#include "cli/commands/commands.h"
#include "cli/commands/habits.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "cli/terminal/pager.h"
#include "cli/version.h"

namespace heaptape::cli {
namespace {

struct Command {
  std::string_view name;
  int (*run)(Arguments);
};

constexpr std::array kCommands{
    Command{"record", record},
    Command{"check", check},
    Command{"report", report},
    Command{"leaks", leaks},
    Command{"peak", peak},
    Command{"top", top},
    Command{"timeline", timeline},
    Command{"cpu", cpu},
    Command{"errors", errors},
    Command{"hunt", hunt},
    Command{"diff", diff},
    Command{"budget", budget},
    Command{"dump", dump},
    Command{"info", info},
    Command{"verify", verify},
    Command{"export", export_tape},
    Command{"import", import_tape},
    Command{"flamegraph", flamegraph},
    Command{"html", html},
    Command{"index", index},
    Command{"symbolize", symbolize},
    Command{"shell", shell},
    Command{"sql", sql},
    Command{"where", where},
    Command{"ps", ps},
    Command{"mark", mark},
    Command{"snapshot", snapshot},
    Command{"stop", stop},
    Command{"flush", flush},
    Command{"gdb", gdb},
    Command{"collect", collect},
};

// Commands of the shell that read well by themselves.
constexpr std::array kAsked{"explain",   "crash", "history",  "owner",     "blocks", "events",      "event",
                            "stack",     "live",  "stats",    "threads",   "marks",  "symbol",      "symbolat",
                            "text",      "map",   "arenas",   "mappings",  "pools",  "checkpoints", "scopes",
                            "snapshots", "bytes", "refs",     "allrefs",   "trace",  "roots",       "stackinfo",
                            "type",      "types", "retained", "check-heap"};

constexpr std::string_view kHelp =
    R"(heaptape records every heap event of a program onto a tape and plays it back.

  record PROGRAM [ARGS...]   record a program; also: heaptape ./PROGRAM
  check PROGRAM [ARGS...]    record it, and look for memory errors
  report [TAPE]              what to look at: peak, leaks, churn, call stacks
  leaks [TAPE]               what was lost, or still live, at the end
  peak [TAPE]                what was live when the heap was largest
  top [TAPE | -p PID]        the most expensive functions or stacks; also live
  cpu [TAPE]                 where the CPU time went (recorded with --cpu)
  errors [TAPE]              double frees, writes outside of blocks, ...
  hunt [TAPE] [-- PROGRAM]   run again, and stop at the write behind an error
  timeline [TAPE]            the heap over time as a picture
  diff TAPE TAPE             what changed between two tapes, or two moments
  budget [TAPE]              check limits: an exit status for CI
  shell [TAPE]               ask about any moment: owner, history, map, ...
  crash [TAPE]               what the program died of: address, stack, registers
  explain [TAPE] ADDR        what an address is: block, freed block, ...
  history [TAPE] ADDR        every block that ever covered an address
  map [TAPE] [ADDR]          the heap as a picture; also --png and --svg
  pools [TAPE] [NAME]        the program's own arenas and allocators, by name
  snapshots [TAPE]           snapshots, and which of them hold memory
  bytes [TAPE] ADDR [N]      what memory held at a snapshot, in hex and text
  refs [TAPE] ADDR           who points at it
  trace [TAPE] ADDR          how the program gets at it, or that it is lost
  types [TAPE]               what the heap consists of, by types of blocks
  retained [TAPE] [ADDR]     what holds the heap: variables, blocks, types
  check-heap [TAPE]          whether something wrote over malloc's own memory
  info [TAPE]                totals, peak, threads, modules, losses
  dump [TAPE]                every event with its call stack, as text or JSON
  sql [TAPE] "SELECT ..."    query a tape in SQL: events, blocks, stacks, ...
  verify [TAPE]              check that a tape is intact and consistent
  symbolize [TAPE]           look up names again, with better debug files
  index [TAPE]               build the index that reports read
  flamegraph [TAPE]          a flame graph for any browser, as SVG
  html [TAPE]                one page with everything, for any browser
  export --format F [TAPE]   for pprof, speedscope, massif, heaptrack, csv, ...
  import heaptrack FILE      make a tape from a heaptrack data file

While a program is being recorded:
  ps                         what is being recorded
  COMMAND -p PID             any command above that reads a TAPE: leaks, ...
  where [-p PID] ADDR        where a pointer comes from: size, age, stacks
  mark -p PID NAME           name this moment
  snapshot -p PID [NAME]     set a moment to compare others with; with
                             --contents, copy the memory onto the tape
  stop -p PID                finish the tape; the program runs on
  flush -p PID               write everything up to now to the tape
  gdb TAPE CORE | -p PID     gdb with heaptape's commands: heaptape where EXPR
  collect --listen SOCKET    one collector for many programs

Also, as in the shell: owner, blocks, events, event, stack, live, stats,
threads, marks, text, checkpoints, scopes, symbol, symbolat, arenas, mappings,
roots, stackinfo, allrefs, type.

Without TAPE, commands read the newest *.tape in the current directory. Long
answers on a terminal go through $PAGER, unless heaptape --no-pager COMMAND.
'heaptape COMMAND --help' describes a command, 'heaptape --version' prints the
version.
)";

// Every command, a line each: for completion and the manual.
std::string command_names() {
  std::string names;
  for (const Command& command : kCommands) names += std::string(command.name) + "\n";
  for (const std::string_view asked : kAsked) names += std::string(asked) + "\n";
  return names;
}

int print(std::string_view text) {
  Output output;
  output.print("{}", text);
  return output.finish() ? kOk : kTrouble;
}

// No file may end up as standard input or output by accident. A recorded program gets the descriptors as they are.
void fill_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    // Where standard output is closed, an answer that cannot be written is reported, not thrown away.
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
  }
}

// nullopt: there is no such command.
std::optional<int> run_command(std::string_view name, Arguments arguments) {
  if (name != "record" && name != "check" && name != "hunt" && name != "collect") fill_standard_descriptors();
  for (const Command& command : kCommands) {
    if (command.name == name) return command.run(arguments);
  }
  for (const std::string_view asked : kAsked) {
    if (asked == name) return ask(asked, arguments);
  }
  return std::nullopt;
}

int run_meant(const Meant& meant) {
  if (!meant.sentence.empty()) say(meant.sentence);
  return meant.command.empty() ? kTrouble : run_command(meant.command, meant.arguments).value_or(kTrouble);
}

int run(Arguments arguments) {
  if (arguments.empty()) {
    say("no command given; 'heaptape record PROGRAM' records, 'heaptape report' shows; see 'heaptape --help'");
    return kTrouble;
  }
  const std::string_view name = arguments.front();
  Arguments rest = arguments.subspan(1);
  if (name == "--no-pager") {
    never_page();
    return run(rest);
  }
  if (name == "--version" || name == "-V" || name == "version" || (name == "-v" && rest.empty()))
    return print(version_text() + "\n");
  if (name == "--commands") return print(command_names());
  if (name == "--complete") return complete(rest);
  if (name == "--help" || name == "-h" || (name == "help" && rest.empty())) return print(kHelp);

  static constexpr const char* kHelpOption = "--help";
  const bool wants_help = name == "help";
  const std::string_view wanted = wants_help ? rest.front() : name;
  if (wants_help) rest = Arguments(&kHelpOption, 1);
  if (wanted == "check") {
    if (const std::optional<Meant> meant = meant_by_check(rest)) return run_meant(*meant);
  }
  if (const std::optional<int> status = run_command(wanted, rest)) return *status;
  if (const std::optional<Meant> meant = meant_by_word(wanted, rest)) return run_meant(*meant);
  std::vector<std::string_view> known{"help", "version"};
  for (const Command& command : kCommands) known.push_back(command.name);
  known.insert(known.end(), kAsked.begin(), kAsked.end());
  if (wants_help) {
    const std::string near = did_you_mean(wanted, std::span<const std::string_view>(known));
    say(fmt::format("unknown command '{}'{}", wanted, near.empty() ? "; see 'heaptape --help'" : near));
    return kTrouble;
  }
  return run_meant(meant_by(arguments, known));
}

} // namespace
} // namespace heaptape::cli

int main(int argc, char** argv) {
  return heaptape::cli::run({argv + (argc > 0 ? 1 : 0), static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)});
}
