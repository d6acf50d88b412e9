// Blocks that the program made while it had paused the recording. They are not on the tape, and their releases must not be
// either: a release of a block that nobody made would look like a mistake of the program. One thread at a time.
#pragma once

#include <cstdint>
#include <unordered_set>

namespace heaptape {

class PausedBlocks {
public:
  void add(std::uint64_t address) {
    live_.insert(address);
    ++made_;
  }
  // A block is back where it was: the realloc that was to end it failed.
  void put_back(std::uint64_t address) { live_.insert(address); }
  // True: there was one, and it is forgotten.
  bool take(std::uint64_t address) { return !live_.empty() && live_.erase(address) != 0; }
  bool empty() const { return live_.empty(); }
  bool contains(std::uint64_t address) const { return !live_.empty() && live_.contains(address); }
  // So far.
  std::uint64_t made() const { return made_; }

private:
  std::unordered_set<std::uint64_t> live_;
  std::uint64_t made_ = 0;
};

} // namespace heaptape
