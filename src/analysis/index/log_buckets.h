// Buckets that double in width, for sizes and for times: 0 alone, then 1, 2-3, 4-7, 8-15, ...
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace heaptape {

inline constexpr std::size_t kLogBuckets = 65;

constexpr std::size_t log_bucket(std::uint64_t number) { return static_cast<std::size_t>(std::bit_width(number)); }

// The smallest and the largest number of a bucket.
constexpr std::uint64_t log_bucket_first(std::size_t bucket) {
  return bucket == 0 ? 0 : std::uint64_t{1} << (bucket - 1);
}
constexpr std::uint64_t log_bucket_last(std::size_t bucket) {
  return bucket == 0 ? 0 : log_bucket_first(bucket) + (log_bucket_first(bucket) - 1);
}

} // namespace heaptape
