// The blocks that are live, with what a recording needs to know of each. 16 bytes per place, never more than 32 bytes per block of the
// largest live set (plus 32 MiB), also while it grows. One thread at a time.
//
// A bucket is one cache line with four places; looking through it takes no branch that depends on where the block lies.
//
//   word a   bits 0..47   address, 0 = empty        word b   bits 0..43   number of the allocating event
//            bits 48..63  size, bits 0..15                   bits 44..61  size, bits 16..33
//                                                            bits 62..63  one of the bucket's four counters
//
// What does not fit: sizes from 16 GiB - 1, event numbers from 2^44, addresses beyond 48 bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "analysis/heap/sharded_table.h"

namespace heaptape {

struct LiveBlock {
  std::uint64_t size = 0;
  std::uint64_t allocated_at = 0; // event number

  friend bool operator==(const LiveBlock&, const LiveBlock&) = default;
};

struct LiveLayout {
  using Value = LiveBlock;
  static constexpr unsigned kPlaces = 4;
  struct alignas(64) Bucket {
    std::uint64_t a[kPlaces];
    std::uint64_t b[kPlaces];
  };

  static constexpr unsigned kEventBits = 44;
  static constexpr unsigned kSizeBits = 34;
  static constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << 48) - 1;
  static constexpr std::uint64_t kEventMask = (std::uint64_t{1} << kEventBits) - 1;
  static constexpr std::uint64_t kPassedMask = std::uint64_t{3} << 62;
  static constexpr std::uint64_t kSideSize = (std::uint64_t{1} << kSizeBits) - 1; // "see the side map"

  static bool fits(std::uint64_t address, const LiveBlock& block) {
    return (address >> 48 | block.allocated_at >> kEventBits) == 0 && block.size < kSideSize;
  }
  static LiveBlock in_side_value(std::uint64_t) { return {kSideSize, 0}; }

  // Bit i: place i holds this address.
  static unsigned find(const Bucket& bucket, std::uint64_t, std::uint64_t address) {
    const auto is_at = [&](unsigned place) { return static_cast<unsigned>((bucket.a[place] ^ address) << 16 == 0); };
    return is_at(0) | is_at(1) << 1 | is_at(2) << 2 | is_at(3) << 3; // written out: the loop is not unrolled at -O2
  }
  static unsigned empty(const Bucket& bucket) { return find(bucket, 0, 0); }
  static unsigned place_of(unsigned found) { return static_cast<unsigned>(std::countr_zero(found)); }

  static bool holds(const Bucket& bucket, unsigned place) { return bucket.a[place] != 0; }
  static std::uint64_t address_at(const Bucket& bucket, unsigned place) { return bucket.a[place] & kAddressMask; }
  static std::uint64_t size_at(const Bucket& bucket, unsigned place) {
    return bucket.a[place] >> 48 | ((bucket.b[place] & ~kPassedMask) >> kEventBits) << 16;
  }
  static LiveBlock value_at(const Bucket& bucket, unsigned place) {
    return {size_at(bucket, place), bucket.b[place] & kEventMask};
  }
  static bool in_side(const Bucket& bucket, unsigned place) { return size_at(bucket, place) == kSideSize; }
  static void put(Bucket& bucket, unsigned place, std::uint64_t, std::uint64_t address, const LiveBlock& block) {
    bucket.a[place] = address | block.size << 48;
    bucket.b[place] = (bucket.b[place] & kPassedMask) | block.allocated_at | (block.size >> 16) << kEventBits;
  }
  static void copy(Bucket& to, unsigned place, std::uint64_t, const Bucket& bucket, unsigned from) {
    to.a[place] = bucket.a[from];
    to.b[place] = (to.b[place] & kPassedMask) | (bucket.b[from] & ~kPassedMask);
  }
  static void clear(Bucket& bucket, unsigned place) {
    bucket.a[place] = 0;
    bucket.b[place] &= kPassedMask;
  }

  // Bits of the hash that say nothing about a block's home.
  static unsigned counter_of(std::uint64_t hash) { return static_cast<unsigned>(hash >> 24) & 3; }
  static bool was_passed(const Bucket& bucket, unsigned counter) { return bucket.b[counter] >> 62 != 0; }
  static bool is_stuck(const Bucket& bucket, unsigned counter) { return bucket.b[counter] >> 62 == 3; }
  static bool count_passing(Bucket& bucket, unsigned counter) {
    if (is_stuck(bucket, counter)) return false;
    bucket.b[counter] += std::uint64_t{1} << 62;
    return is_stuck(bucket, counter);
  }
  static void count_leaving(Bucket& bucket, unsigned counter) {
    if (!is_stuck(bucket, counter)) bucket.b[counter] -= std::uint64_t{1} << 62;
  }

  // Of four places 2.8 are taken when a shard grows, and 2.24 right after: 28.6 bytes per block.
  static constexpr std::uint32_t kFullFifths = 14;
  // Up to here, 32 MiB over all shards, memory is cheaper than moving blocks: shards double, and stay.
  static constexpr std::uint32_t kKept = 8192;
  static std::uint32_t larger(std::uint32_t buckets) { return buckets < kKept ? 2 * buckets : buckets + buckets / 4; }
  static std::uint32_t smaller(std::uint32_t blocks) { return std::max(blocks / 2 + 8, kKept); }
};

extern template class ShardedTable<LiveLayout>; // in live_map.cpp

using LiveMap = ShardedTable<LiveLayout>;

} // namespace heaptape
