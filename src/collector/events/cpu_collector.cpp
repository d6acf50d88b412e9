#include "collector/events/cpu_collector.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "wire/cpu_record.h"

namespace heaptape {

namespace {

// More than anybody makes; keeps the search for the place of a new one short whatever the program writes.
constexpr std::size_t kMostSegments = std::size_t{1} << 14;

} // namespace

bool CpuCollector::add(const RingItem& item, std::uint64_t time_us, StackId stack) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const std::uint32_t number = wire::cpu_segment(item.address());
  const auto value = static_cast<std::uint32_t>(std::min(item.size(), kMost));
  const auto place =
      std::lower_bound(known_.segments.begin(), known_.segments.end(), number,
                       [](const CpuSegment& segment, std::uint32_t wanted) { return segment.number < wanted; });
  const bool is_known = place != known_.segments.end() && place->number == number;
  switch (static_cast<wire::CpuRecord>(wire::cpu_what(item.address()))) {
  case wire::CpuRecord::Sample:
    if (value == 0) return false;
    samples_.push_back({time_us, ThreadId(item.thread), stack, value, number});
    ++taken_in_;
    return true;
  case wire::CpuRecord::Begin:
    if (is_known || number == 0 || value == 0 || known_.segments.size() == kMostSegments) return false;
    known_.segments.insert(place, {number, value, time_us, 0});
    changed_.insert(number);
    return true;
  case wire::CpuRecord::End:
    if (!is_known || place->end_us != 0) return false;
    place->end_us = std::max<std::uint64_t>(time_us, 1); // 0 means that it goes on
    changed_.insert(number);
    return true;
  }
  return false;
}

CpuProfile CpuCollector::take() {
  CpuProfile profile;
  for (const std::uint32_t number : std::exchange(changed_, {})) profile.segments.push_back(*known_.find(number));
  profile.samples = std::exchange(samples_, {});
  return profile;
}

} // namespace heaptape
