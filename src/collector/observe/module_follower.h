// Reads the program's module log as it grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collector/rings/tick_clock.h"
#include "tape/contents.h"
#include "wire/layout.h"

namespace heaptape {

class ModuleFollower {
public:
  // `log` is kModuleLogBytes of shared memory.
  explicit ModuleFollower(const std::byte* log) : log_(log) {}

  // The modules that became complete since the last call. `used` is the header's module_log_used; `executable` stands
  // in for an empty path. After an entry that makes no sense the rest of the log is given up, and damaged() is true.
  std::vector<Module> take_new(std::uint64_t used, const std::string& executable, const TickClock& clock);

  std::uint64_t position() const { return position_; } // bytes of the log read so far
  bool damaged() const { return damaged_; }

private:
  const std::byte* log_;
  std::uint64_t position_ = 0;
  bool damaged_ = false;
};

} // namespace heaptape
