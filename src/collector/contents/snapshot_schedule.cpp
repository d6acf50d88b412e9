#include "collector/contents/snapshot_schedule.h"

#include <algorithm>

#include "base/number_text.h"

namespace heaptape {

std::optional<std::string> SnapshotSchedule::due(const Now& now) {
  lowest_bytes_ = std::min(lowest_bytes_, now.live_bytes);
  highest_bytes_ = std::max(highest_bytes_, now.live_bytes);
  std::optional<std::string> name;
  if (triggers_.every_us != 0 && now.time_us - last_.time_us >= triggers_.every_us)
    name = "every " + duration_text(triggers_.every_us);
  if (triggers_.events != 0 && now.events - last_.events >= triggers_.events)
    name = "event " + with_separators(now.events);
  if (triggers_.growth_bytes != 0 && now.live_bytes - lowest_bytes_ >= triggers_.growth_bytes)
    name = "grown by " + bytes_text(now.live_bytes - lowest_bytes_);
  // As long as it grows, a peak is not one yet, but a crash may come before the end: at every quarter more, too.
  const bool far = now.live_bytes >= peak_bytes_ + peak_bytes_ / 4 + (std::uint64_t{1} << 20);
  const bool falls = now.live_bytes < highest_bytes_ && now.live_bytes > peak_bytes_ + peak_bytes_ / 20;
  if (triggers_.peak && (far || falls)) {
    name = "peak " + bytes_text(now.live_bytes);
    peak_bytes_ = now.live_bytes;
  }
  if (name) taken(now);
  return name;
}

bool SnapshotSchedule::wants_mark(std::string_view name) const {
  return std::ranges::find(triggers_.marks, name) != triggers_.marks.end();
}

void SnapshotSchedule::taken(const Now& now) {
  last_ = now;
  lowest_bytes_ = now.live_bytes;
}

} // namespace heaptape
