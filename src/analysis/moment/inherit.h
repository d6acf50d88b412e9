// The blocks that a forked process has from its parent, worked out from the parent's tape and put onto its own.
//
//   parent's tape   ... malloc A   malloc B   free A   [fork, event 3]   malloc C ...
//   child's tape                                        inherited: B      free B   malloc D ...
//
// The child's META says who forked it and when (started_monotonic_ns); the parent's tape says at which of its events that
// was (ForkMade). What was live there is copied with its call stacks, so that the child's tape needs no other. A parent that
// is itself the child of a fork had blocks from its own parent, and so on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "tape/appender.h"
#include "tape/reader.h"

namespace heaptape {

// Blocks that are listed at most, some nine megabytes of a tape: a server that forks a hundred workers has a hundred such
// lists. The smallest are left out.
inline constexpr std::size_t kMostInherited = std::size_t{1} << 22;

// Who forked a process, as its tape says.
struct ForkOrigin {
  std::uint32_t parent_pid = 0;
  std::string parent_tape{}; // the last part of its path
  std::uint64_t started_ns = 0;
};
// nullopt: it was not forked by a recorded process.
std::optional<ForkOrigin> fork_origin(const TapeReader& tape);

// The fork on the parent's tape, with the last event before it; nullopt: it is not there, or not yet. A tape without a
// record of it is asked by the time, once it goes beyond that.
std::optional<ForkMade> find_fork(const TapeReader& parent, const ForkOrigin& origin);

// Opens the tape of a parent, as far as find_fork() needs it. An error ends the search.
using OpenParent = std::function<Result<TapeReader>(const ForkOrigin& origin)>;

// Adds what the process had from its parent to its tape, unless it is there already or the process has no such parent.
// The result says whether anything was added. Nothing is added either for a process that did nothing but become another
// program.
Result<bool> append_inherited(const TapeToFinish& tape, const OpenParent& open_parent,
                              std::size_t most = kMostInherited);

// The same for a tape whose recording goes on or was cut off: in memory alone. The parents' tapes may lie beside it, at
// `path`.
Result<bool> inherit_for_now(TapeReader& tape, const OpenParent& open_parent);
Result<bool> inherit_for_now(TapeReader& tape, const std::string& path);

} // namespace heaptape
