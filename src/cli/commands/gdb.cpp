// heaptape gdb: a debugger that knows where pointers come from, on a core file and the tape of the program that left
// it, or on a program that is being recorded.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/number_text.h"
#include "base/output_file.h"
#include "base/system_error.h"
#include "cli/beside/recorder_library.h"
#include "cli/beside/under_tool.h"
#include "cli/commands/commands.h"
#include "cli/options/by_pid.h"
#include "cli/options/command_line.h"
#include "cli/options/tape_session.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "collector/control/control_client.h"
#include "collector/launch/launcher.h"
#include "collector/launch/program_search.h"
#include "report/export/elf_core.h"
#include "shell/contents_text.h"
#include "symbols/finder.h"
#include "tape/reader.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape gdb TAPE [CORE [PROGRAM]] | heaptape gdb -p PID",
    .purpose =
        "Starts gdb with the commands 'heaptape where EXPR', 'heaptape history EXPR', 'heaptape trace EXPR' and "
        "others: "
        "on a snapshot of memory of a tape, on a core file and the tape of the program that left it, or on a program "
        "that is being recorded.",
    .more =
        R"(Without CORE it is the last snapshot, the last one up to --at, or that of TAPE@NUMBER and TAPE@NAME
('heaptape snapshots' lists them).
PROGRAM is the executable (default: the one named on the tape). Everything after "--" is passed to gdb.

Examples:
  heaptape gdb server.tape
  heaptape gdb server.tape@2
  heaptape gdb --at loaded server.tape -- -batch -ex 'heaptape trace p'
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

// Beside the tape's own words: what the user gave, and what gdb is told on every way.
struct Start {
  std::vector<std::string> words;
  Arguments for_gdb;
};

// The program whose memory it was, if the file is still the same.
std::optional<std::string> same_program(const TapeReader& tape) {
  const auto path = tape.meta().find("program");
  if (path == tape.meta().end()) {
    say("the tape does not say which program it was; gdb has no symbols of it");
    return std::nullopt;
  }
  const auto module = std::ranges::find(tape.modules(), path->second, &Module::path);
  const SymbolOptions options;
  const ModuleFile wanted{path->second,
                          module == tape.modules().end() ? std::vector<std::uint8_t>() : module->build_id};
  if (const Result<MappedFile> file = Finder(options).module(wanted); !file) {
    say(file.error().sentence + "; gdb has no symbols of it");
    return std::nullopt;
  }
  return path->second;
}

// The core file has no name: only gdb has it open, and it is gone when gdb ends, however that is.
int on_snapshot(SessionWishes& wishes, Start start) {
  Result<Session> session = open_session(wishes);
  if (!session) return fail(session.error());
  const Result<SnapshotMemory*> memory = session.value().memory();
  if (!memory) return fail(memory.error());
  Result<OutputFile> file = OutputFile::create_unnamed();
  if (!file) return fail(file.error());
  const Result<CoreWritten> written = export_elf_core(session.value().tape(), *memory.value(), file.value());
  if (!written) return fail(written.error());
  if (const Result<> kept = file.value().keep(); !kept) return fail(kept.error());
  say(snapshot_text(session.value(), memory.value()->facts()));
  if (const std::string gaps = core_gaps_text(written.value()); !gaps.empty()) say(gaps);
  UniqueFd core = file.value().take_to_hand_on();

  const std::string tape = std::filesystem::absolute(session.value().view().path()).string();
  start.words.insert(start.words.end(),
                     {"-iex", "set heaptape tape " + tape, "-iex",
                      fmt::format("set heaptape moment snapshot:{}", memory.value()->facts().number)});
  if (const std::optional<std::string> program = same_program(session.value().tape()))
    start.words.push_back("--exec=" + *program), start.words.push_back("--symbols=" + *program);
  start.words.push_back(fmt::format("--core=/proc/self/fd/{}", core.get()));
  start.words.insert(start.words.end(), start.for_gdb.begin(), start.for_gdb.end());
  return become(start.words);
}

} // namespace

int gdb(Arguments arguments) {
  std::string pid_text, core, program;
  SessionWishes wishes;
  std::string& tape = wishes.tape.path;
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
  list.text("--at POSITION", wishes.at, "the last snapshot up to this moment (default: end)").excludes("--pid");
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
  if (tape.empty()) {
    say("give TAPE, TAPE and CORE, or -p PID; see 'heaptape gdb --help'");
    return kTrouble;
  }
  if (core.empty()) return on_snapshot(wishes, {std::move(words), for_gdb});
  if (!wishes.at.empty()) {
    say("--at chooses a snapshot of the tape; leave it out, or CORE");
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
