// Blocks that the program made while it had paused the recording. They are not on the tape, and their releases must not
// be either: a release of a block that nobody made would look like a mistake of the program. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/heap/live_map.h"

namespace heaptape {

// No address is 0.
class PausedBlocks {
public:
  void add(std::uint64_t address) {
    put_back(address);
    ++made_;
  }
  // A block is back where it was: the realloc that was to end it failed.
  void put_back(std::uint64_t address) {
    if (!blocks_) blocks_.emplace();
    if (blocks_->insert(address, {})) ++live_;
  }
  // True: there was one, and it is forgotten.
  bool take(std::uint64_t address) {
    LiveBlock block;
    if (live_ == 0 || !blocks_->take(address, block)) return false;
    --live_;
    return true;
  }
  bool empty() const { return live_ == 0; }
  // So far.
  std::uint64_t made() const { return made_; }

private:
  std::optional<LiveMap> blocks_; // only programs that pause pay for it
  std::uint64_t live_ = 0;
  std::uint64_t made_ = 0;
};

} // namespace heaptape
