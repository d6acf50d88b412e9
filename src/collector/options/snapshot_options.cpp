#include "collector/options/snapshot_options.h"

#include <algorithm>

#include "base/number_text.h"
#include "collector/options/live_options.h"

namespace heaptape {

namespace {

Error refuse(std::string_view item) {
  return {ErrorCode::Usage,
          "'" + printable(item) +
              "' is not a reason for a snapshot; use every:TIME, growth:SIZE, events:N, peak or mark:NAME"};
}

} // namespace

Result<SnapshotTriggers> parse_snapshot_triggers(std::string_view text) {
  SnapshotTriggers triggers;
  triggers.text = text;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    const std::size_t colon = item.find(':');
    const std::string_view what = item.substr(0, colon);
    const std::string value(colon == std::string_view::npos ? std::string_view() : item.substr(colon + 1));
    if (what == "peak" && colon == std::string_view::npos) {
      triggers.peak = true;
      continue;
    }
    if (value.empty()) return refuse(item);
    if (what == "mark") {
      triggers.marks.push_back(value);
    } else if (what == "every") {
      const Result<std::uint64_t> time = parse_interval_us(value);
      if (!time || time.value() == 0) return refuse(item);
      triggers.every_us = time.value();
    } else if (what == "growth" || what == "events") {
      const Result<std::uint64_t> number = parse_bytes(value);
      if (!number || number.value() == 0) return refuse(item);
      (what == "growth" ? triggers.growth_bytes : triggers.events) = number.value();
    } else {
      return refuse(item);
    }
  }
  if (!triggers.any()) return refuse("");
  return triggers;
}

} // namespace heaptape
