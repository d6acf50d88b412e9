// heaptape collect: the collector of a program that was started without `heaptape record`.
#include <unistd.h>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/finish_tape.h"
#include "cli/live_arguments.h"
#include "collector/collector_process.h"
#include "collector/launch_environment.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape collect FD",
    .purpose =
        "Started by libheaptape.so in a program that runs without 'heaptape record'. FD is an inherited socket; the "
        "HEAPTAPE_* environment variables are the options. Not meant to be started by hand.",
    .more = ""};

} // namespace

int collect(Arguments arguments) {
  int socket = -1;
  CLI::App app("", "collect");
  app.add_option("FD,--socket", socket)->required();
  if (const auto status = parse(app, kHelp, arguments)) return *status;
  Result<RecordOptions> options = options_from_environment(environ);
  if (!options) return fail(options.error());
  CollectorOptions& collector = options.value().collector;
  collector.finish = tape_finisher(collector);
  if (const Result<> added = add_watcher(collector); !added) return fail(added.error());
  return collect_for(socket, collector);
}

} // namespace heaptape::cli
