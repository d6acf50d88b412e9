// `heaptape collect --listen SOCKET`: one process that many programs turn to for a collector. Each gets one of its own,
// a forked child that writes one tape; the listener only takes connections, refuses programs of other users, and reaps.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "collector/options/collector_options.h"

namespace heaptape {

// Listens until SIGTERM or SIGINT, then ends all recordings in good order (the programs go on) and returns when their
// tapes are finished. `tell` shows the user a line: each program that comes. The process must have one thread.
Result<> listen_for_programs(const std::string& socket, const CollectorOptions& options,
                             const std::function<void(const std::string&)>& tell);

} // namespace heaptape
