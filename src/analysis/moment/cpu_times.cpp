#include "analysis/moment/cpu_times.h"

#include <algorithm>
#include <map>

#include "wire/cpu_record.h"

namespace heaptape {

bool CpuSelection::accepts(const CpuSample& sample) const {
  if (sample.time_us < from_us || sample.time_us > to_us) return false;
  if (segment != 0 && sample.segment != segment) return false;
  return threads.empty() || std::find(threads.begin(), threads.end(), sample.thread) != threads.end();
}

CpuTime& CpuTime::operator+=(const CpuTime& other) {
  us += other.us;
  periods += other.periods;
  samples += other.samples;
  return *this;
}

CpuTime time_of(const CpuSample& sample, const CpuProfile& profile) {
  constexpr std::uint64_t kSecond = 1'000'000;
  const CpuSegment* const segment = profile.find(sample.segment);
  // A damaged tape may not say.
  const std::uint64_t hz = segment != nullptr && segment->hz != 0 ? segment->hz : wire::kDefaultCpuHz;
  return {sample.weight * kSecond / hz, sample.weight, 1};
}

std::vector<StackTime> cpu_times(const CpuProfile& profile, const CpuSelection& selection) {
  std::map<std::pair<StackId, ThreadId>, CpuTime> sums;
  for (const CpuSample& sample : profile.samples) {
    if (selection.accepts(sample)) sums[{sample.stack, sample.thread}] += time_of(sample, profile);
  }
  std::vector<StackTime> times;
  times.reserve(sums.size());
  for (const auto& [owner, time] : sums) times.push_back({owner.first, owner.second, time});
  return times;
}

} // namespace heaptape
