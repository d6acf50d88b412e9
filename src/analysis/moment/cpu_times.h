// CPU time out of the samples of a profile.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "tape/cpu_profile.h"

namespace heaptape {

// Which samples count.
struct CpuSelection {
  std::uint64_t from_us = 0; // inclusive, both
  std::uint64_t to_us = ~std::uint64_t{0};
  std::uint32_t segment = 0;       // 0: all
  std::vector<ThreadId> threads{}; // empty: all

  bool accepts(const CpuSample& sample) const;
};

// What samples stand for.
struct CpuTime {
  std::uint64_t us = 0;      // CPU time: periods times the length of one
  std::uint64_t periods = 0; // their weights
  std::uint64_t samples = 0; // how many were taken
  CpuTime& operator+=(const CpuTime& other);
  friend bool operator==(const CpuTime&, const CpuTime&) = default;
};
CpuTime time_of(const CpuSample& sample, const CpuProfile& profile);

struct StackTime {
  StackId stack;
  ThreadId thread;
  CpuTime time;
  friend bool operator==(const StackTime&, const StackTime&) = default;
};

// By stack and thread, in that order. One pass over the samples.
std::vector<StackTime> cpu_times(const CpuProfile& profile, const CpuSelection& selection = {});

} // namespace heaptape
