#include "tape/crash.h"

#include <algorithm>

namespace heaptape {

const Crash* deadly_crash(std::span<const Crash> crashes, const std::optional<Summary>& summary) {
  if (crashes.empty()) return nullptr;
  // Who is not the program's parent does not know how it ended, and a tape that was cut off does not say.
  if (!summary || summary->ending == Ending::Unknown) return &crashes.front();
  if (summary->ending != Ending::Killed) return nullptr;
  const auto found = std::find_if(crashes.begin(), crashes.end(), [&](const Crash& crash) {
    return crash.last_signal() == static_cast<std::uint32_t>(summary->ending_detail);
  });
  return found != crashes.end() ? &*found : nullptr;
}

} // namespace heaptape
