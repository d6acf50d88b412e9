// Fills a Timeline while events go by in order. Only the finest level is kept on the way; the others are made from it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "analysis/answers.h"
#include "tape/contents.h"

namespace heaptape {

class TimelineBuilder {
public:
  // For a run whose last event is at end_us.
  TimelineBuilder(std::uint64_t end_us, std::uint64_t events);

  // The first moment that belongs to the next bucket.
  std::uint64_t bucket_end_us() const { return bucket_end_us_; }
  // Closes the buckets that end before or at `time_us`. Must be called before an event of that time is added.
  void advance(std::uint64_t time_us);

  // The heap after one more event.
  [[gnu::always_inline]] void add(std::uint64_t live_bytes, std::uint64_t live_blocks) {
    min_bytes_ = std::min(min_bytes_, live_bytes);
    max_bytes_ = std::max(max_bytes_, live_bytes);
    min_blocks_ = std::min(min_blocks_, live_blocks);
    max_blocks_ = std::max(max_blocks_, live_blocks);
    last_bytes_ = live_bytes;
    last_blocks_ = live_blocks;
  }
  // Running totals at this moment; the buckets hold the differences.
  void set_totals(std::uint64_t allocated_bytes, std::uint64_t events) {
    allocated_bytes_ = allocated_bytes;
    events_ = events;
  }

  // The finest level, up to the end of the run.
  TimelineLevel finish();

private:
  void close_bucket();

  std::uint64_t last_bucket_; // number of the last one
  std::uint64_t bucket_end_us_ = 0;
  TimelineLevel level_;
  std::uint64_t min_bytes_ = 0, max_bytes_ = 0, last_bytes_ = 0;
  std::uint64_t min_blocks_ = 0, max_blocks_ = 0, last_blocks_ = 0;
  std::uint64_t allocated_bytes_ = 0, events_ = 0;
  std::uint64_t closed_allocated_bytes_ = 0, closed_events_ = 0;
};

// All levels from the finest.
Timeline make_timeline(TimelineLevel finest);
// Puts what the kernel said beside it, on every level.
void join_samples(Timeline& timeline, std::span<const Sample> samples);

} // namespace heaptape
