// heaptape gdb: a debugger that knows where pointers come from, on a core file and the tape of the program that left
// it, or on a program that is being recorded.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/number_text.h"
#include "base/system_error.h"
#include "cli/beside/recorder_library.h"
#include "cli/beside/under_tool.h"
#include "cli/commands/commands.h"
#include "cli/options/by_pid.h"
#include "cli/options/command_line.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "collector/control/control_client.h"
#include "collector/launch/launcher.h"
#include "collector/launch/program_search.h"
#include "tape/reader.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape gdb TAPE CORE [PROGRAM] | heaptape gdb -p PID",
    .purpose =
        "Starts gdb with the commands 'heaptape where EXPR', 'heaptape history EXPR', 'heaptape top' and 'heaptape "
        "leaks': on a core file and the tape of the program that left it, or on a program that is being recorded.",
    .more =
        R"(PROGRAM is the executable (default: the one named on the tape). Everything after "--" is passed to gdb.

Examples:
  heaptape gdb server.tape core.4711
  heaptape gdb server.tape core.4711 -- -batch -ex bt -ex 'heaptape where p'
  heaptape gdb -p 4711
)"};

int become(const std::vector<std::string>& words) {
  const Result<std::string> tool = find_program(words.front(), std::getenv("PATH"));
  if (!tool) {
    say("gdb is not installed (Debian package gdb)");
    return kTrouble;
  }
  const LaunchOutcome outcome = run_unrecorded({tool.value(), words}, environ);
  if (!outcome.sentence.empty()) say(outcome.sentence);
  return outcome.exit_status;
}

Result<std::string> program_of(const std::string& path) {
  const Result<TapeReader> tape = TapeReader::open(path);
  if (!tape) return tape.error();
  const auto found = tape.value().meta().find("program");
  if (found != tape.value().meta().end() && ::access(found->second.c_str(), R_OK) == 0) return found->second;
  return Error{ErrorCode::NotFound,
               "the program of " + path + " cannot be found; name it: heaptape gdb TAPE CORE PROGRAM"};
}

} // namespace

int gdb(Arguments arguments) {
  std::string pid_text, tape, core, program;
  // CLI11 would take what follows "--" for our own words.
  Arguments ours = arguments, for_gdb;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (std::string_view(arguments[i]) != "--") continue;
    ours = arguments.first(i);
    for_gdb = arguments.subspan(i + 1);
    break;
  }
  OptionList list("gdb");
  list.text("-p,--pid PID", pid_text, "attach to this program");
  list.word("TAPE", tape).excludes("--pid");
  list.word("CORE", core);
  list.word("PROGRAM", program);
  if (const auto status = parse(list, kHelp, ours)) return *status;

  const Result<std::string> binary = own_path();
  if (!binary) return fail(binary.error());
  std::vector<std::string> words = {"gdb", "-q"};
  const Result<std::string> library = find_recorder_library(binary.value(), std::getenv("HEAPTAPE_LIBRARY"));
  if (!library) return fail(library.error());
  const std::vector<std::string> commands = gdb_knows_heaptape(binary.value(), library.value());
  words.insert(words.end(), commands.begin(), commands.end());
  if (!pid_text.empty()) {
    const Result<pid_t> pid = find_process(pid_text);
    if (!pid) return fail(pid.error());
    if (const Result<LiveRecording> recording = live_recording(pid.value()); !recording) return fail(recording.error());
    words.insert(words.end(), {"-p", std::to_string(pid.value())});
    words.insert(words.end(), for_gdb.begin(), for_gdb.end());
    return become(words);
  }
  if (tape.empty() || core.empty()) {
    say("give TAPE and CORE, or -p PID; see 'heaptape gdb --help'");
    return kTrouble;
  }
  for (const std::string& file : {tape, core}) {
    if (::access(file.c_str(), R_OK) == 0) continue;
    say("cannot read '" + printable(file) + "': " + system_message(errno));
    return kTrouble;
  }
  if (program.empty()) {
    Result<std::string> found = program_of(tape);
    if (!found) return fail(found.error());
    program = found.value();
  }
  words.insert(words.end(), {"-iex", "set heaptape tape " + std::filesystem::absolute(tape).string()});
  words.insert(words.end(), for_gdb.begin(), for_gdb.end());
  words.insert(words.end(), {program, core});
  return become(words);
}

} // namespace heaptape::cli
