// A tape written again: what can be read of it, with or without what the program's memory held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"
#include "tape/tape_source.h"

namespace heaptape {

struct TapeCopy {
  std::uint64_t contents_bytes = 0;  // of the file, for memory that was left out
  std::uint64_t unknown_chunks = 0;  // left out too: of a later version, so they may hold memory
  std::uint64_t damaged_regions = 0; // nor is copied what cannot be read
};

// Gives the copy in pieces, in order, to `write`, whose first error ends it. The index stays behind: it is made for a file of other places.
// `name` is for the sentences of errors. What a tape holds that is not known to be free of memory does not go into a copy without it.
Result<TapeCopy> copy_tape(const TapeSource& source, const std::string& name, bool with_contents,
                           const std::function<Result<>(std::span<const std::byte>)>& write);

} // namespace heaptape
