// heaptape mark, snapshot, stop, flush: what can be done to a recording that is under way.
#include "base/number_text.h"
#include "cli/commands/commands.h"
#include "cli/options/by_pid.h"
#include "cli/options/command_line.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "collector/control/control_client.h"
#include "report/view/position.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kMarkHelp{
    .usage = "heaptape mark -p PID NAME",
    .purpose =
        "Names this moment on the tape of a running program; reports accept the name wherever they accept a time.",
    .more = R"(Example:
  heaptape mark -p 4711 'before the load test'
  heaptape report -p 4711 --from 'before the load test'
)"};
constexpr CommandHelp kSnapshotHelp{
    .usage = "heaptape snapshot -p PID [--note TEXT]",
    .purpose = "Sets a snapshot on the tape of a running program: a named moment for 'heaptape report --snapshots', "
               "--deltas and --cumulative.",
    .more = ""};
constexpr CommandHelp kStopHelp{
    .usage = "heaptape stop -p PID",
    .purpose = "Ends the recording of a running program; the program runs on. Returns when the tape is finished, with "
               "names and index.",
    .more = ""};
constexpr CommandHelp kFlushHelp{
    .usage = "heaptape flush -p PID",
    .purpose = "Writes everything a running program has done up to now to its tape, and prints the tape's path.",
    .more = "Commands with -p PID do this themselves.\n"};

// Parses the rest of the options, asks the recording, and reports what was done.
template <class Ask, class Done>
int control(OptionList& list, const CommandHelp& help, Arguments arguments, Ask ask, Done done) {
  std::string pid_text;
  list.text("-p,--pid PID", pid_text, "the program ('heaptape ps' lists them)").required();
  if (const auto status = parse(list, help, arguments)) return *status;
  const Result<pid_t> pid = find_process(pid_text);
  if (!pid) return fail(pid.error());
  const Result<LiveRecording> recording = ask(pid.value());
  if (!recording) return fail(recording.error());
  done(recording.value());
  return kOk;
}

std::string moment_of(const LiveRecording& recording) {
  return "after " + duration_text(recording.elapsed_us) + ", event " + with_separators(recording.events) + ", " +
         bytes_text(recording.live_bytes) + " live: " + printable(recording.tape);
}

// How to name the moment later, where the name alone means another.
std::string how_to_quote(const std::string& name) {
  if (!needs_quotes(name)) return "";
  return "; in reports, write \"'" + printable(name) + "'\" with both pairs of quotes: " + printable(name) +
         " alone means something in every tape";
}

} // namespace

int mark(Arguments arguments) {
  std::string name;
  OptionList list("mark");
  list.word("NAME", name).required();
  return control(
      list, kMarkHelp, arguments,
      [&](pid_t pid) -> Result<LiveRecording> {
        if (name.empty()) return Error{ErrorCode::Usage, "a mark needs a name: heaptape mark -p PID NAME"};
        return mark_now(pid, name, MarkKind::Mark);
      },
      [&](const LiveRecording& done) {
        say("marked '" + printable(name) + "' " + moment_of(done) + how_to_quote(name));
      });
}

int snapshot(Arguments arguments) {
  std::string note = "snapshot";
  OptionList list("snapshot");
  list.text("--note TEXT", note, "the snapshot's name (default: snapshot)");
  return control(
      list, kSnapshotHelp, arguments, [&](pid_t pid) { return mark_now(pid, note, MarkKind::Snapshot); },
      [&](const LiveRecording& done) {
        say("snapshot '" + printable(note) + "' " + moment_of(done) + how_to_quote(note));
      });
}

int stop(Arguments arguments) {
  OptionList list("stop");
  return control(list, kStopHelp, arguments, stop_recording, [](const LiveRecording& done) {
    say("the recording of process " + std::to_string(done.pid) + " ended " + moment_of(done));
  });
}

int flush(Arguments arguments) {
  OptionList list("flush");
  Output output;
  const int status = control(
      list, kFlushHelp, arguments, [](pid_t program) { return flush_tape(program); },
      [&](const LiveRecording& done) { output.print("{}\n", done.tape); });
  return output.finish() ? status : kTrouble;
}

} // namespace heaptape::cli
