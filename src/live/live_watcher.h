// The watcher behind record --log, --max-live and --top-every. The collector's thread counts (LiveHeap); a thread of
// its own looks up names and writes, so that debug information of a hundred megabytes never makes the program wait.
// When the writing does not keep up, the next snapshot comes later and covers more; snapshots that were asked for by
// name, and did not fit either, are counted in the log.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "collector/events/event_watcher.h"
#include "collector/options/collector_options.h"
#include "collector/options/live_options.h"

namespace heaptape {

// Creates the log, if there is to be one. `version` is for its first line; `look_up`: read names from the program's
// files.
Result<std::unique_ptr<EventWatcher>> watch_live(const LiveOptions& options, bool look_up, const std::string& version,
                                                 const WatchedProgram& program);

// For CollectorOptions::watch; empty when the options want nothing.
WatcherFactory live_watcher_factory(const LiveOptions& options, bool look_up, std::string version);

} // namespace heaptape
