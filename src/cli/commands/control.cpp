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
    .usage = "heaptape snapshot -p PID [NAME] [--contents]",
    .purpose =
        "Sets a snapshot on the tape of a running program: a named moment for 'heaptape report --snapshots', "
        "--deltas and --cumulative. With --contents, what its memory holds at that moment is copied onto the tape: "
        "heap, stacks, globals and registers. Such a snapshot has a number and may do without a name.",
    .more = R"(Where the memory cannot be copied, the moment is named all the same; a sentence says why,
and the status is 3.

How the memory is copied (--method):
  live  while the program runs; it stands still for milliseconds (Linux 6.7)
  twin  from a child that shares the program's memory, copy on write
  stop  while the program stands still
  auto  whichever disturbs least (default)

Example:
  heaptape snapshot -p 4711 'after the load test' --contents
  heaptape snapshots -p 4711
)"};
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
  return done(recording.value());
}

std::string moment_of(const LiveRecording& recording) {
  return "after " + duration_text(recording.elapsed_us) + ", event " + with_separators(recording.events) + ", " +
         bytes_text(recording.live_bytes) + " live: " + printable(recording.tape);
}

// How to name the moment later, where the name alone means another.
std::string how_to_quote(const std::string& name) {
  if (name.empty() || !needs_quotes(name)) return "";
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
        return kOk;
      });
}

int snapshot(Arguments arguments) {
  static constexpr const char* kUsualName = "snapshot";
  std::string note, method_text = "auto";
  bool contents = false, with_not_dumped = false;
  OptionList list("snapshot");
  list.word("NAME", note);
  list.text("--note NAME", note, "the same");
  list.flag("--contents", contents, "copy the program's memory onto the tape");
  list.text("--method HOW", method_text, "live, twin, stop or auto (default)").one_of({"auto", "live", "twin", "stop"});
  list.flag("--with-dontdump", with_not_dumped,
            "copy also what the program asked not to have in dumps (MADV_DONTDUMP)");
  std::string outcome, missing;
  const auto take = [&](pid_t pid) -> Result<LiveRecording> {
    const SnapshotMethod method = method_text == "live"   ? SnapshotMethod::Live
                                  : method_text == "twin" ? SnapshotMethod::Twin
                                  : method_text == "stop" ? SnapshotMethod::Stop
                                                          : SnapshotMethod::Unknown;
    Result<TakenContents> taken = take_contents(pid, note, method, with_not_dumped);
    if (!taken) return taken.error();
    outcome = taken.value().outcome;
    missing = taken.value().missing;
    return taken.value().recording;
  };
  const auto ask = [&](pid_t pid) -> Result<LiveRecording> {
    return contents ? take(pid) : mark_now(pid, note.empty() ? kUsualName : note, MarkKind::Snapshot);
  };
  const auto report = [&](const LiveRecording& done) {
    const std::string name = !note.empty() ? " '" + printable(note) + "'"
                             : contents    ? ""
                                           : fmt::format(" '{}'", kUsualName);
    if (!missing.empty()) {
      say("snapshot" + name + " is a moment without memory: " + missing);
      return kWithoutMemory;
    }
    say("snapshot" + name +
        (contents ? " with contents: " + outcome + ": " + printable(done.tape) : " " + moment_of(done)) +
        how_to_quote(note));
    return kOk;
  };
  return control(list, kSnapshotHelp, arguments, ask, report);
}

int stop(Arguments arguments) {
  OptionList list("stop");
  return control(list, kStopHelp, arguments, stop_recording, [](const LiveRecording& done) {
    say("the recording of process " + std::to_string(done.pid) + " ended " + moment_of(done));
    return kOk;
  });
}

int flush(Arguments arguments) {
  OptionList list("flush");
  Output output;
  const int status = control(
      list, kFlushHelp, arguments, [](pid_t program) { return flush_tape(program); },
      [&](const LiveRecording& done) {
        output.print("{}\n", done.tape);
        return kOk;
      });
  return output.finish() ? status : kTrouble;
}

} // namespace heaptape::cli
