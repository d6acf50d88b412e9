// Fills a Timeline while events go by in order. Only the finest level is kept on the way; the others are made from it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "analysis/index/findings.h"
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

  // What is live after one more event: when it may have become less,
  [[gnu::always_inline]] void add_low(std::uint64_t bytes, std::uint64_t blocks) {
    if (bytes < min_bytes_) min_bytes_ = bytes;
    if (blocks < min_blocks_) min_blocks_ = blocks;
  }
  // and when it may have become more.
  [[gnu::always_inline]] void add_high(std::uint64_t bytes, std::uint64_t blocks) {
    if (bytes > max_bytes_) max_bytes_ = bytes;
    if (blocks > max_blocks_) max_blocks_ = blocks;
  }
  // Everything at this moment; needed before advance() and finish().
  void set_totals(const HeapTotals& totals) { totals_ = totals; }

  // The finest level, up to the end of the run.
  TimelineLevel finish();

private:
  void close_bucket();

  std::uint64_t last_bucket_; // number of the last one
  std::uint64_t bucket_end_us_ = 0;
  TimelineLevel level_;
  std::uint64_t min_bytes_ = 0, max_bytes_ = 0, min_blocks_ = 0, max_blocks_ = 0; // in this bucket
  HeapTotals totals_;
  std::uint64_t closed_allocated_bytes_ = 0, closed_events_ = 0; // up to this bucket
};

// All levels from the finest.
Timeline make_timeline(TimelineLevel finest);
// Puts what the kernel said beside it, on every level.
void join_samples(Timeline& timeline, std::span<const Sample> samples);

} // namespace heaptape
