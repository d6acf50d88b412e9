// heaptape collect: the collector of a program that was started without `heaptape record`.
#include <unistd.h>

#include "cli/beside/finish_tape.h"
#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "cli/options/live_arguments.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "collector/launch/launch_environment.h"
#include "collector/launch/program_check.h"
#include "collector/options/tape_name.h"
#include "collector/recording/collector_process.h"
#include "collector/recording/listener.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape collect --listen SOCKET [-o FILE]",
    .purpose = "Records each of your programs that connects to SOCKET on a tape of its own, until SIGTERM or SIGINT; "
               "then finishes all tapes, and the programs run on. 'heaptape ps' lists them.",
    .more =
        R"(The HEAPTAPE_* environment variables set the options of all recordings ('heaptape record --help' lists them);
relative tape names start from the collector's working directory.

Example:
  heaptape collect --listen /run/user/1000/heaptape.sock -o '/tmp/%n.%p.tape' &
  LD_PRELOAD=/path/to/libheaptape.so \
    HEAPTAPE_COLLECTOR=unix:/run/user/1000/heaptape.sock ./server

Without --listen: libheaptape.so starts 'heaptape collect FD' itself in a program that runs without 'heaptape record';
FD is an inherited socket. Not meant to be started by hand.
)"};

} // namespace

int collect(Arguments arguments) {
  int socket = -1;
  std::string listen, output;
  OptionList list("collect");
  list.text("--listen SOCKET", listen, "the socket to listen on; created, and removed at the end");
  list.text("-o,--output FILE", output, "tape names: %p is the pid, %n the program's name, %t the time")
      .needs("--listen");
  list.word("FD,--socket", socket).excludes("--listen");
  if (const auto status = parse(list, kHelp, arguments)) return *status;
  Result<RecordOptions> options = options_from_environment(environ);
  if (!options) return fail(options.error());
  CollectorOptions& collector = options.value().collector;
  collector.finish = tape_finisher(collector);
  if (const Result<> added = add_watcher(collector); !added) return fail(added.error());
  collector.where_command = where_command();
  collector.obstacle_of = obstacle_of;
  if (listen.empty() && socket < 0) {
    say("no socket given; see 'heaptape collect --help'");
    return kTrouble;
  }
  if (listen.empty()) return collect_for(socket, collector);
  if (!output.empty()) collector.tape = output;
  if (const Result<> named = check_tape_name(collector.tape); !named) return fail(named.error());
  collector.tape_named = false; // many programs share the name: a second one gets a number
  collector.force = false;
  if (const Result<> folder = check_tape_folder(collector.tape); !folder) return fail(folder.error());
  const Result<> done = listen_for_programs(listen, collector, [](const std::string& line) { say(line); });
  return done ? kOk : fail(done.error());
}

} // namespace heaptape::cli
