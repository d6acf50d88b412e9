#include "analysis/index/timeline_builder.h"

#include <limits>

namespace heaptape {

namespace {

constexpr std::uint64_t kCoarsest = 64, kStep = 16, kFinest = kCoarsest * kStep * kStep;
constexpr std::uint64_t kEventsPerBucket = 64; // a finer timeline would tell little and take its share of a short tape

std::uint64_t finest_buckets(std::uint64_t events) {
  std::uint64_t buckets = kCoarsest;
  while (buckets < kFinest && buckets * kStep * kEventsPerBucket <= events) buckets *= kStep;
  return buckets;
}

std::uint64_t times_saturated(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::uint64_t>::max() : product;
}

TimelineLevel coarser(const TimelineLevel& fine) {
  TimelineLevel level;
  level.bucket_us = times_saturated(fine.bucket_us, kStep);
  for (std::size_t i = 0; i < fine.buckets.size(); ++i) {
    const TimeBucket& part = fine.buckets[i];
    if (i % kStep == 0) {
      level.buckets.push_back(part);
      continue;
    }
    TimeBucket& whole = level.buckets.back();
    whole.min_bytes = std::min(whole.min_bytes, part.min_bytes);
    whole.max_bytes = std::max(whole.max_bytes, part.max_bytes);
    whole.last_bytes = part.last_bytes;
    whole.min_blocks = std::min(whole.min_blocks, part.min_blocks);
    whole.max_blocks = std::max(whole.max_blocks, part.max_blocks);
    whole.last_blocks = part.last_blocks;
    whole.allocated_bytes += part.allocated_bytes;
    whole.events += part.events;
  }
  return level;
}

void join_samples(TimelineLevel& level, std::span<const Sample> samples) {
  std::size_t next = 0;
  Sample last;
  for (std::size_t i = 0; i < level.buckets.size(); ++i) {
    TimeBucket& bucket = level.buckets[i];
    const std::uint64_t end_us = times_saturated(level.bucket_us, i + 1);
    bucket.rss_bytes = bucket.anonymous_bytes = 0;
    bool any = false;
    for (; next < samples.size() && samples[next].time_us < end_us; ++next) {
      any = true;
      last = samples[next];
      bucket.rss_bytes = std::max(bucket.rss_bytes, last.rss_bytes);
      bucket.anonymous_bytes = std::max(bucket.anonymous_bytes, last.anonymous_bytes);
    }
    if (any) continue;
    bucket.rss_bytes = last.rss_bytes;
    bucket.anonymous_bytes = last.anonymous_bytes;
  }
}

} // namespace

TimelineBuilder::TimelineBuilder(std::uint64_t end_us, std::uint64_t events) {
  level_.bucket_us = end_us / finest_buckets(events) + 1;
  last_bucket_ = end_us / level_.bucket_us;
  bucket_end_us_ = level_.bucket_us;
}

void TimelineBuilder::close_bucket() {
  level_.buckets.push_back({min_bytes_, max_bytes_, totals_.live_bytes, min_blocks_, max_blocks_, totals_.live_blocks,
                            totals_.allocated_bytes - closed_allocated_bytes_, totals_.events - closed_events_, 0, 0});
  min_bytes_ = max_bytes_ = totals_.live_bytes;
  min_blocks_ = max_blocks_ = totals_.live_blocks;
  closed_allocated_bytes_ = totals_.allocated_bytes;
  closed_events_ = totals_.events;
}

void TimelineBuilder::advance(std::uint64_t time_us) {
  // The last bucket takes whatever comes behind it.
  const std::uint64_t bucket = std::min(time_us / level_.bucket_us, last_bucket_);
  while (level_.buckets.size() < bucket) close_bucket();
  bucket_end_us_ = bucket == last_bucket_ ? std::numeric_limits<std::uint64_t>::max()
                                          : times_saturated(level_.bucket_us, bucket + 1);
}

TimelineLevel TimelineBuilder::finish() {
  while (level_.buckets.size() <= last_bucket_) close_bucket();
  return std::move(level_);
}

Timeline make_timeline(TimelineLevel finest) {
  Timeline timeline;
  timeline.levels.push_back(std::move(finest));
  while (timeline.levels.front().buckets.size() > kCoarsest)
    timeline.levels.insert(timeline.levels.begin(), coarser(timeline.levels.front()));
  return timeline;
}

void join_samples(Timeline& timeline, std::span<const Sample> samples) {
  for (TimelineLevel& level : timeline.levels) join_samples(level, samples);
}

} // namespace heaptape
