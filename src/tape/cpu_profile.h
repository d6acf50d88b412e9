// The CPU profile of a recording: where threads were when they had used another period of CPU time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace heaptape {

// A stretch of the run that was profiled, by --cpu or by <heaptape/profile.h>.
struct CpuSegment {
  std::uint32_t number = 0; // from 1
  std::uint32_t hz = 0;     // samples per second of a thread's CPU time
  std::uint64_t begin_us = 0;
  std::uint64_t end_us = 0; // 0: it went on to the end of the recording
  friend bool operator==(const CpuSegment&, const CpuSegment&) = default;
};

struct CpuSample {
  std::uint64_t time_us = 0;
  ThreadId thread{};
  StackId stack{};          // its innermost pc is one more than the address of the instruction
  std::uint32_t weight = 0; // periods of CPU time that it stands for
  std::uint32_t segment = 0;
  friend bool operator==(const CpuSample&, const CpuSample&) = default;
};

struct CpuProfile {
  std::vector<CpuSegment> segments; // by number; a damaged tape may lack some that samples name
  std::vector<CpuSample> samples;   // about in the order of time

  bool empty() const { return segments.empty() && samples.empty(); }
  // Null: not on the tape.
  const CpuSegment* find(std::uint32_t number) const;
  friend bool operator==(const CpuProfile&, const CpuProfile&) = default;
};

} // namespace heaptape
