// heaptape record: runs a program and records it.
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "base/number_text.h"
#include "base/path_text.h"
#include "cli/beside/finish_tape.h"
#include "cli/beside/recorder_library.h"
#include "cli/beside/tape_in_use.h"
#include "cli/beside/under_tool.h"
#include "cli/commands/check_findings.h"
#include "cli/commands/commands.h"
#include "cli/commands/fail_sweep.h"
#include "cli/commands/failing_functions.h"
#include "cli/live/top_beside.h"
#include "cli/options/by_pid.h"
#include "cli/options/check_arguments.h"
#include "cli/options/command_line.h"
#include "cli/options/live_arguments.h"
#include "cli/options/record_arguments.h"
#include "cli/options/take_value.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "collector/launch/launcher.h"
#include "collector/launch/program_check.h"
#include "collector/options/function_options.h"
#include "collector/options/option_values.h"
#include "collector/options/tape_name.h"
#include "report/pages/run.h"
#include "report/pages/run_text.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape record [options] [--] PROGRAM [ARGS...]",
    .purpose = "Runs PROGRAM and records every allocation and release on a tape, with thread, time and call stack. "
               "Everything after PROGRAM belongs to the program.",
    .more = R"(Examples:
  heaptape record ./server --port 8080
  heaptape record -o 'runs/%n-%t.tape' --max-tape 4G -- python3 job.py
  heaptape record --follow make
  heaptape record --leaks ./server; heaptape leaks
  heaptape record --cpu ./server; heaptape cpu
  heaptape record --alloc-fn g_malloc --alloc-fn g_malloc_n:1:2=g_malloc \
                  --free-fn g_free ./app
  heaptape record --no-tape --log=/var/log/server.log --log-max 50M -- ./server

Exits with the program's own status; 128+N when signal N killed it, 127 when it was not
found, 126 when it could not be executed, and 2 when the recording could not start and
the program was not run.

Options can come from the environment too: HEAPTAPE_OUTPUT, HEAPTAPE_FORCE=1,
HEAPTAPE_QUIET=1, HEAPTAPE_FOLLOW=1, HEAPTAPE_FREE_STACKS=0, HEAPTAPE_MAX_DEPTH,
HEAPTAPE_MAX_TAPE, HEAPTAPE_ON_FULL, HEAPTAPE_CPU, HEAPTAPE_HEAP=0, HEAPTAPE_CRASH=0,
HEAPTAPE_ALLOC_FN, HEAPTAPE_FREE_FN, HEAPTAPE_SNAPSHOT, HEAPTAPE_SNAPSHOT_LIMIT,
HEAPTAPE_WITH_DONTDUMP=1, HEAPTAPE_TAPE=0, HEAPTAPE_LOG, HEAPTAPE_MAX_LIVE and so on.
HEAPTAPE_RUNTIME_DIR is the folder of the sockets by which other commands reach the
recording ('heaptape ps'). This also records a program that is started without heaptape:
LD_PRELOAD=/path/to/libheaptape.so PROGRAM.
)"};

struct RecordRequest {
  RecordOptions options;
  std::vector<std::string> command;
  bool debugger = false;
  std::vector<std::string> gdb_options{};
  bool perf = false;
  bool top = false;
  const CheckArguments* checks = nullptr; // heaptape check
};

int end_with(const LaunchOutcome& outcome) {
  if (!outcome.sentence.empty()) say(outcome.sentence);
  return outcome.exit_status;
}

int become(const Program& program) { return end_with(run_unrecorded(program, environ)); }

// gdb and perf start the program themselves, as often as they like, so the recorder starts a collector each time.
int run_under_tool(const RecordRequest& request, const Program& program, const std::vector<std::string>& variables) {
  std::vector<std::string> command = program.arguments;
  command.front() = program.path;
  const std::string name(base_name(request.command.front()));
  const std::vector<std::string> words = request.debugger
                                             ? gdb_command(variables, command, request.gdb_options)
                                             : perf_command(variables, command, "heaptape." + name + ".perf.data");
  const Result<std::string> tool = find_program(words.front(), std::getenv("PATH"));
  if (!tool) {
    say(words.front() + " is not installed; --" + (request.debugger ? "debugger" : "perf") +
        " needs it (Debian package " + (request.debugger ? "gdb" : "linux-perf") + ")");
    return kTrouble;
  }
  return become({tool.value(), words});
}

std::string working_directory() {
  const std::unique_ptr<char, decltype(&std::free)> directory(::getcwd(nullptr, 0), std::free);
  return directory ? std::string(directory.get()) : std::string(".");
}

// With --follow there is a run, unless the user named tapes of single processes.
void choose_run(RecordOptions& options) {
  CollectorOptions& collector = options.collector;
  collector.follow = options.follow;
  if (!options.follow || !collector.write_tape || !collector.run.empty()) return;
  if (collector.tape_named && !names_run(collector.tape)) return;
  collector.run = collector.tape_named ? collector.tape : "heaptape.%n.%p.run";
  collector.run_begins = true;
}

// What a run was, when all of its tapes are finished.
void show_run(const std::string& folder) {
  constexpr std::uint64_t kPatienceMs = 60'000;
  constexpr std::size_t kTreeLines = 10;
  await_run(folder, kPatienceMs);
  const Result<Run> run = read_run_now(folder);
  if (!run) return;
  const RunProcess& main = run.value().programs[run.value().main];
  TextStyle style;
  say(fmt::format("{} -> {}\n{}  'heaptape report {}' opens {} ({})", processes_text(run.value()), printable(folder),
                  run_tree_text(run.value(), kTreeLines, style), printable(folder), printable(main.name), main.pid));
}

int run(RecordRequest& request) {
  const Result<Program> program = resolve_program(request.command, std::getenv("PATH"));
  if (!program) {
    return end_with(
        {program.error().code == ErrorCode::NotFound ? kNotFound : kCannotExecute, program.error().sentence});
  }
  const bool under_tool = request.debugger || request.perf;
  const char* const preload = std::getenv("LD_PRELOAD");

  ProgramCheck check = check_program(request.command.front(), program.value().path);
  if (check.obstacle == Obstacle::None && preload != nullptr) {
    const ProgramCheck preloaded = judge_preload(preload);
    if (preloaded.obstacle != Obstacle::None) check = preloaded;
  }
  if (check.obstacle != Obstacle::None) {
    say(check.sentence);
    return under_tool ? run_under_tool(request, program.value(), {}) : become(program.value());
  }

  if (request.checks != nullptr && !request.checks->failing.function.empty()) {
    const Result<std::string> where = failing_functions(check.executable, request.checks->failing.function);
    if (!where) return fail(where.error());
    request.options.collector.check += where.value();
  }

  const Result<std::string> binary = own_path();
  if (!binary) return fail(binary.error());
  const Result<std::string> library = find_recorder_library(binary.value(), std::getenv("HEAPTAPE_LIBRARY"));
  if (!library) return fail(library.error());

  if (under_tool) {
    if (const Result<> folder = check_tape_folder(request.options.collector.tape); !folder) return fail(folder.error());
    const RecorderLink link{library.value(), binary.value(), working_directory(), std::nullopt};
    request.gdb_options = gdb_knows_heaptape(binary.value(), library.value());
    return run_under_tool(request, program.value(), recorder_variables(request.options, link, preload));
  }
  std::optional<TopBeside> view;
  if (request.top) {
    Result<TopBeside> begun = TopBeside::begin();
    if (!begun) return fail(begun.error());
    view.emplace(std::move(begun).value());
  }
  RecordOptions options = request.options;
  options.collector.program = check.executable;
  const bool is_run = options.collector.run_begins && !options.collector.quiet;
  std::string first_tape;
  const Result<LaunchOutcome> outcome = launch({.program = program.value(),
                                                .name = request.command.front(),
                                                .options = std::move(options),
                                                .library = library.value(),
                                                .heaptape = binary.value(),
                                                .started = [&](const std::string& tape) {
                                                  first_tape = tape;
                                                  if (view) view->show(tape);
                                                }});
  if (!outcome && outcome.error().code == ErrorCode::Exhausted) {
    say("cannot record: " + outcome.error().sentence + "; the program runs unrecorded");
    return become(program.value());
  }
  if (!outcome) return fail(outcome.error());
  if (is_run && outcome.value().sentence.empty() && !first_tape.empty())
    show_run(first_tape.substr(0, first_tape.rfind('/')));
  const int status = end_with(outcome.value());
  if (request.checks == nullptr || first_tape.empty() || !outcome.value().sentence.empty()) return status;
  const FindingsWanted wanted{request.checks->suppression_files, request.checks->leak_check,
                              request.options.collector.quiet};
  const bool found = request.options.collector.run_begins
                         ? tell_findings_of_run(first_tape.substr(0, first_tape.rfind('/')), wanted)
                         : tell_findings(first_tape, wanted);
  return found && request.checks->error_status != 0 ? static_cast<int>(request.checks->error_status) : status;
}

// Options that are read as text and then parsed by the same functions as their variables.
struct OptionTexts {
  std::string output, max_depth, max_tape, on_full, snapshot, snapshot_limit;
  std::optional<std::string> cpu; // empty: as often as usual
  bool leaks = false;
};

Result<> take_texts(const OptionTexts& texts, CollectorOptions& options) {
  if (!texts.output.empty()) {
    options.tape = texts.output;
    options.tape_named = true;
    options.run.clear();
  }
  if (auto taken = take_value("--max-depth", texts.max_depth, parse_depth, options.max_depth); !taken) return taken;
  if (auto taken = take_value("--max-tape", texts.max_tape, parse_bytes, options.max_tape_bytes); !taken) return taken;
  if (auto taken = take_value("--snapshot", texts.snapshot, parse_snapshot_triggers, options.snapshots); !taken)
    return taken;
  if (texts.leaks) options.snapshots.add_exit();
  if (auto taken =
          take_value("--snapshot-limit", texts.snapshot_limit, parse_bytes, options.snapshot_bounds.most_bytes);
      !taken)
    return taken;
  const std::string cpu = texts.cpu && texts.cpu->empty() ? "100" : texts.cpu.value_or("");
  if (auto taken = take_value("--cpu", cpu, parse_cpu_hz, options.cpu_hz); !taken) return taken;
  return take_value("--on-full", texts.on_full, parse_on_full, options.on_full);
}

// Those of the command line come on top of the environment's.
Result<> take_functions(const std::vector<std::string>& allocating, const std::vector<std::string>& freeing,
                        CollectorOptions& options) {
  for (const std::string& text : allocating) {
    const auto parsed = parse_alloc_functions(text);
    if (!parsed) return Error{ErrorCode::Usage, "--alloc-fn: " + parsed.error().sentence};
    options.alloc_functions.insert(options.alloc_functions.end(), parsed.value().begin(), parsed.value().end());
  }
  for (const std::string& text : freeing) {
    const auto parsed = parse_free_functions(text);
    if (!parsed) return Error{ErrorCode::Usage, "--free-fn: " + parsed.error().sentence};
    options.free_functions.insert(options.free_functions.end(), parsed.value().begin(), parsed.value().end());
  }
  return check_function_count(options);
}

int run_sweep(const CheckArguments& checks, const RecordArguments& split) {
  const Result<std::string> binary = own_path();
  if (!binary) return fail(binary.error());
  const std::vector<std::string> command(split.command.begin(), split.command.end());
  if (const Result<Program> program = resolve_program(command, std::getenv("PATH")); !program)
    return end_with(
        {program.error().code == ErrorCode::NotFound ? kNotFound : kCannotExecute, program.error().sentence});
  FailSweep sweep{.heaptape = binary.value(),
                  .options = {},
                  .command = command,
                  .most_runs = *checks.failing.sweep,
                  .keep_output = checks.failing.keep_output};
  for (const std::string_view word : split.options) {
    if (word != "--keep-output" && word != "-q" && word != "--quiet" && word != "--force" && word != "--sweep" &&
        !word.starts_with("--sweep="))
      sweep.options.emplace_back(word);
  }
  return run_fail_sweep(sweep);
}

int run_recording(Arguments arguments, CheckArguments* checks) {
  RecordRequest request;
  request.checks = checks;
  if (Result<RecordOptions> from_environment = options_from_environment(environ); from_environment) {
    request.options = std::move(from_environment).value();
  } else {
    return fail(from_environment.error());
  }
  CollectorOptions& collector = request.options.collector;
  OptionTexts texts;
  LiveArguments live;
  std::vector<std::string> alloc_functions, free_functions;
  bool no_free_stacks = false, no_symbols = false, no_index = false, no_heap = false, no_crash_handler = false;

  OptionList list(checks != nullptr ? "check" : "record");
  if (checks != nullptr) checks->add(list);
  list.text("-o,--output FILE", texts.output,
            "name of the tape: %p is the pid, %n the program's name, %t the time (default: heaptape.%n.%p.tape; with "
            "--follow a folder, heaptape.%n.%p.run)");
  list.flag("--force", collector.force, "overwrite the tape if it exists");
  list.flag("-q,--quiet", collector.quiet, "print no summary at the end");
  list.flag("--follow", request.options.follow, "record child processes too: a folder with a tape for each");
  list.flag("--no-free-stacks", no_free_stacks, "record no call stacks for releases: faster and smaller");
  list.text("--max-depth N", texts.max_depth, "record at most N frames per call stack, up to 4096 (default: 1024)");
  list.text("--max-tape SIZE", texts.max_tape,
            "stop recording when the tape reaches this size (500M, 2G); the program runs on");
  list.text("--on-full WHAT", texts.on_full,
            "when the program outruns the recording: 'wait' (default; nothing is lost) or 'drop' (and count)")
      .one_of({"wait", "drop"});
  list.flag("--leaks", texts.leaks,
            "copy the program's memory onto the tape when it ends, so that 'heaptape leaks' tells what is lost from "
            "what is still reachable (--snapshot=exit)");
  list.text("--snapshot WHEN", texts.snapshot,
            "copy the program's memory onto the tape: every:10s, growth:200M, events:1000000, peak, exit, crash, "
            "mark:NAME, signal:USR2; several with commas between them");
  list.text("--snapshot-limit SIZE", texts.snapshot_limit,
            "take no more snapshots of memory when they have this size on the tape (default: 10G)");
  list.flag("--with-dontdump", collector.snapshot_bounds.with_not_dumped,
            "in snapshots of memory, also what the program asked not to have in dumps (MADV_DONTDUMP)");
  list.optional_text(
      "--cpu[=HZ]", texts.cpu,
      "also sample every thread HZ times per second of its CPU time: --cpu=HZ, 1 to 5000 (default: 100)");
  list.flag("--no-heap", no_heap, "record no heap events: with --cpu, only a CPU profile");
  list.flag("--no-crash-handler", no_crash_handler,
            "leave signals such as SIGSEGV entirely to the program: a crash is not on the tape");
  list.flag("--no-symbols", no_symbols, "put no function names and lines on the tape");
  list.flag("--no-index", no_index, "build no index at the end; the first report does it instead");
  list.repeated("--alloc-fn FUNCTION", alloc_functions,
                "what this library function returns counts as a block of a pool: NAME[:SIZE-ARG[:COUNT-ARG]][=POOL], "
                "arguments counted from 1 (default: 1); repeatable");
  list.repeated("--free-fn FUNCTION", free_functions, "this function frees such blocks: NAME[:PTR-ARG]; repeatable");
  list.flag("--debugger", request.debugger, "run the program in gdb");
  list.flag("--perf", request.perf, "run the program under 'perf record', into heaptape.PROGRAM.perf.data")
      .excludes("--debugger");

  live.add(list);
  list.flag("--top", request.top, "show the heap on the terminal while the program runs; its output must go elsewhere")
      .excludes("--debugger")
      .excludes("--perf")
      .excludes("--no-tape");

  std::string pid;
  list.text("-p,--pid,--attach PID", pid, "").hidden();

  const RecordArguments split = split_record_arguments(list, arguments);
  if (const auto status = parse(list, checks != nullptr ? kCheckHelp : kHelp, split.options)) return *status;
  if (!pid.empty()) {
    say(about_attaching(pid));
    return kTrouble;
  }
  if (split.command.empty()) {
    say(fmt::format("no program given; see 'heaptape {} --help'", checks != nullptr ? "check" : "record"));
    return kTrouble;
  }
  if (const Result<> taken = take_texts(texts, collector); !taken) return fail(taken.error());
  if (const Result<> taken = take_functions(alloc_functions, free_functions, collector); !taken)
    return fail(taken.error());
  if (const Result<> taken = live.take(collector); !taken) return fail(taken.error());
  if (no_free_stacks) collector.free_stacks = false;
  if (no_heap) collector.heap = false;
  if (!collector.heap && collector.cpu_hz == 0) {
    say("--no-heap leaves nothing to record; pass --cpu as well");
    return kTrouble;
  }
  if (no_crash_handler) collector.crashes = false;
  if (no_symbols) collector.symbols = false;
  if (no_index) collector.index = false;
  if (checks != nullptr) {
    if (const Result<> taken = checks->take(collector); !taken) return fail(taken.error());
  }
  if (checks != nullptr && checks->failing.sweep) {
    if (!texts.output.empty() || request.options.follow || request.debugger || request.perf || request.top) {
      say("--sweep names the tapes itself, one for each run; leave out --output, --follow, --debugger, --perf, --top");
      return kTrouble;
    }
    return run_sweep(*checks, split);
  }
  collector.finish = tape_finisher(collector);
  if (const Result<> added = add_watcher(collector); !added) return fail(added.error());
  collector.where_command = where_command();
  choose_run(request.options);
  const bool is_stream = collector.tape == "-"; // no name for a folder either
  if (collector.tape_named && (collector.run.empty() || is_stream)) {
    if (const Result<> named = check_tape_name(collector.tape); !named) return fail(named.error());
  }
  collector.obstacle_of = obstacle_of;
  for (const char* word : split.options)
    collector.options_text += (collector.options_text.empty() ? "" : " ") + std::string(word);
  request.command.assign(split.command.begin(), split.command.end());
  for (const std::string& word : request.command) collector.command += word + '\0';
  return run(request);
}

} // namespace

int record(Arguments arguments) { return run_recording(arguments, nullptr); }

int check(Arguments arguments) {
  CheckArguments checks;
  return run_recording(arguments, &checks);
}

} // namespace heaptape::cli
