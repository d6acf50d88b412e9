// The environment as a channel: HEAPTAPE_* variables to options and back, and what a recorded program is started with.
//
//   HEAPTAPE_OUTPUT       name of the tape (-o)         HEAPTAPE_MAX_DEPTH   frames per stack (--max-depth)
//   HEAPTAPE_FORCE        1: overwrite it (--force)     HEAPTAPE_ON_FULL     wait or drop (--on-full)
//   HEAPTAPE_QUIET        1: no summary (-q)            HEAPTAPE_MAX_TAPE    size, e.g. 2G (--max-tape)
//   HEAPTAPE_FOLLOW       1: children too (--follow)    HEAPTAPE_FREE_STACKS 0: none for frees (--no-free-stacks)
//   HEAPTAPE_CPU          samples per second (--cpu)    HEAPTAPE_HEAP        0: no heap events (--no-heap)
//   HEAPTAPE_SYMBOLS      0: no names (--no-symbols)    HEAPTAPE_INDEX       0: no index (--no-index)
//   HEAPTAPE_CRASH        0: not what it dies of (--no-crash-handler)
//   HEAPTAPE_ALLOC_FN     functions, separated by commas (--alloc-fn); HEAPTAPE_FREE_FN (--free-fn)
//   HEAPTAPE_RUN          folder of the run that a followed program belongs to
//   HEAPTAPE_SNAPSHOT     when snapshots of memory are taken (--snapshot)
//   HEAPTAPE_SNAPSHOT_LIMIT  bytes on the tape for all of them (--snapshot-limit)
//   HEAPTAPE_WITH_DONTDUMP   1: also memory that is not to be in dumps (--with-dontdump)
//   HEAPTAPE_TAPE         0: no tape (--no-tape)        and those of live_options.h
//
//   HEAPTAPE_RUNTIME_DIR  folder of the control sockets (collector/control/control_folder.h)
//
// and, for the recorder alone: HEAPTAPE_COLLECTOR (path of the heaptape binary, or unix:SOCKET of one that listens),
// HEAPTAPE_SHM_FD, HEAPTAPE_SHM_KEY (decimal numbers), HEAPTAPE_DIRECTORY (where a tape goes that the user did not
// name), HEAPTAPE_PAD (makes their number even).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "collector/options/collector_options.h"

namespace heaptape {

// A recording's options, and whether children are recorded too.
struct RecordOptions {
  CollectorOptions collector;
  bool follow = false;
};

// What the HEAPTAPE_* variables of `environment` (as environ, null-terminated) say; defaults for the others. An error
// names the variable. When children are followed they share one name, so it is never insisted on and never overwritten.
Result<RecordOptions> options_from_environment(const char* const* environment);

// What the recorder needs besides the options.
struct RecorderLink {
  std::string library;   // path of libheaptape.so, fit for LD_PRELOAD
  std::string heaptape;  // path of our own binary
  std::string directory; // the working directory; the program's children may be elsewhere when they start a tape
  struct Memory {
    int fd = -1;
    std::uint64_t key = 0;
  };
  std::optional<Memory> memory; // absent: the recorder starts a collector by itself
};

// The variables to set, as NAME=VALUE, LD_PRELOAD first. `user_preload` is the user's own LD_PRELOAD, kept as it is
// behind our library, which the recorder takes out again. As many as it takes out, an even number.
std::vector<std::string> recorder_variables(const RecordOptions& options, const RecorderLink& link,
                                            const char* user_preload);

// `environment` with `variables` replacing those of the same name, in place where there were any. HEAPTAPE_* variables
// that are not among them are left out.
std::vector<std::string> with_variables(const char* const* environment, const std::vector<std::string>& variables);

} // namespace heaptape
