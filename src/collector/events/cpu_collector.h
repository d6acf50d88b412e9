// Puts the CPU profile together from its records. One thread at a time.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "collector/rings/ring_item.h"
#include "tape/cpu_profile.h"

namespace heaptape {

class CpuCollector {
public:
  // A record of the kind CpuSample; false: it makes no sense.
  bool add(const RingItem& item, std::uint64_t time_us, StackId stack);

  std::size_t waiting() const { return samples_.size(); }
  bool anything_new() const { return !samples_.empty() || !changed_.empty(); }
  std::uint64_t taken_in() const { return taken_in_; } // samples ever

  // The samples, and the segments that are new or have ended, since the last time.
  CpuProfile take();

private:
  CpuProfile known_; // segments only
  std::set<std::uint32_t> changed_;
  std::vector<CpuSample> samples_;
  std::uint64_t taken_in_ = 0;
};

} // namespace heaptape
