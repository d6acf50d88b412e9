// The live blocks with all that is known of each, by address: where LiveMap remembers enough to record, this remembers enough to
// answer. 24 bytes per place and about 36 per block, also while it grows. One thread at a time.
//
// A bucket is two cache lines with five places, and a word in front that says what is in them: a byte of each block's hash, so that
// a few operations on that word find the place.
//
//   word tags   bytes 0..4  per place 0 = empty, else 0x80 + seven bits of the hash       bytes 5..7  the bucket's three counters
//   word a      bits 0..47  address         word b   bits 0..39   event          word c   bits 0..39   time
//               bits 48..63 owner,                   bits 40..63  size,                   bits 40..49  size, bits 24..33
//                           bits 0..15                            bits 0..23              bits 50..61  owner, bits 16..27
//
// What does not fit: sizes from 16 GiB - 1, event numbers and times from 2^40, owners from 2^28, addresses beyond 48 bits.
#pragma once

#include <bit>
#include <cstdint>

#include "analysis/heap/sharded_table.h"

namespace heaptape {

struct Block {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t event = 0; // that made it
  std::uint64_t time_us = 0;
  std::uint32_t owner = 0; // number in an OwnerTable

  friend bool operator==(const Block&, const Block&) = default;
};

struct BlockLayout {
  using Value = Block;
  static constexpr unsigned kPlaces = 5;
  struct alignas(128) Bucket {
    std::uint64_t tags;
    std::uint64_t a[kPlaces];
    std::uint64_t b[kPlaces];
    std::uint64_t c[kPlaces];
  };

  static constexpr unsigned kNumberBits = 40; // of events and times
  static constexpr unsigned kSizeBits = 34;
  static constexpr unsigned kOwnerBits = 28;
  static constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << 48) - 1;
  static constexpr std::uint64_t kNumberMask = (std::uint64_t{1} << kNumberBits) - 1;
  static constexpr std::uint64_t kSideSize = (std::uint64_t{1} << kSizeBits) - 1; // "see the side map"
  static constexpr std::uint64_t kOnes = 0x01'0101'0101, kTops = 0x80'8080'8080;  // a bit for each place

  static bool fits(std::uint64_t, const Block& block) {
    return (block.address >> 48 | block.event >> kNumberBits | block.time_us >> kNumberBits |
            block.owner >> kOwnerBits) == 0 &&
           block.size < kSideSize;
  }
  static Block in_side_value(std::uint64_t address) { return {address, kSideSize, 0, 0, 0}; }

  // Of the hash, bits that say nothing about a block's home.
  static std::uint64_t tag_of(std::uint64_t hash) { return 0x80 | (hash >> 12 & 0x7f); }
  // Bit 8 i + 7: place i holds this address. Bits above the lowest may be wrong.
  [[gnu::always_inline]] static std::uint64_t find(const Bucket& bucket, std::uint64_t hash, std::uint64_t address) {
    const std::uint64_t differ = bucket.tags ^ tag_of(hash) * kOnes;
    // A bit for every byte that is 0, and maybe some behind it.
    for (std::uint64_t alike = (differ - kOnes) & ~differ & kTops; alike != 0; alike &= alike - 1) {
      if ((bucket.a[place_of(alike)] ^ address) << 16 == 0) [[likely]]
        return alike;
    }
    return 0;
  }
  static std::uint64_t empty(const Bucket& bucket) { return ~bucket.tags & kTops; }
  static unsigned place_of(std::uint64_t found) { return static_cast<unsigned>(std::countr_zero(found)) / 8; }

  static bool holds(const Bucket& bucket, unsigned place) { return (bucket.tags >> 8 * place & 0xff) != 0; }
  static std::uint64_t address_at(const Bucket& bucket, unsigned place) { return bucket.a[place] & kAddressMask; }
  static std::uint64_t size_at(const Bucket& bucket, unsigned place) {
    return bucket.b[place] >> kNumberBits | (bucket.c[place] >> kNumberBits & 0x3ff) << 24;
  }
  static Block value_at(const Bucket& bucket, unsigned place) {
    return {bucket.a[place] & kAddressMask, size_at(bucket, place), bucket.b[place] & kNumberMask,
            bucket.c[place] & kNumberMask,
            static_cast<std::uint32_t>(bucket.a[place] >> 48 | bucket.c[place] >> 50 << 16)};
  }
  static bool in_side(const Bucket& bucket, unsigned place) { return size_at(bucket, place) == kSideSize; }
  static void put(Bucket& bucket, unsigned place, std::uint64_t hash, std::uint64_t, const Block& block) {
    bucket.tags |= tag_of(hash) << 8 * place;
    bucket.a[place] = block.address | std::uint64_t{block.owner} << 48;
    bucket.b[place] = block.event | block.size << kNumberBits;
    bucket.c[place] = block.time_us | (block.size >> 24) << kNumberBits | std::uint64_t{block.owner >> 16} << 50;
  }
  static void copy(Bucket& to, unsigned place, std::uint64_t hash, const Bucket& bucket, unsigned from) {
    to.tags |= tag_of(hash) << 8 * place;
    to.a[place] = bucket.a[from];
    to.b[place] = bucket.b[from];
    to.c[place] = bucket.c[from];
  }
  static void clear(Bucket& bucket, unsigned place) { bucket.tags &= ~(std::uint64_t{0xff} << 8 * place); }

  // Where in the word its counter begins.
  static unsigned counter_of(std::uint64_t hash) { return 40 + 8 * static_cast<unsigned>((hash & 0xff) * 3 >> 8); }
  static bool was_passed(const Bucket& bucket, unsigned counter) { return (bucket.tags >> counter & 0xff) != 0; }
  static bool is_stuck(const Bucket& bucket, unsigned counter) { return (bucket.tags >> counter & 0xff) == 0xff; }
  static bool count_passing(Bucket& bucket, unsigned counter) {
    if (is_stuck(bucket, counter)) return false;
    bucket.tags += std::uint64_t{1} << counter;
    return is_stuck(bucket, counter);
  }
  static void count_leaving(Bucket& bucket, unsigned counter) {
    if (!is_stuck(bucket, counter)) bucket.tags -= std::uint64_t{1} << counter;
  }

  // Of five places 3.8 are taken when a shard grows, and 3.04 right after.
  static constexpr std::uint32_t kFullFifths = 19;
  static constexpr std::uint32_t kKept = 512; // a smaller shard is not worth shrinking: 64 KiB
  static std::uint32_t larger(std::uint32_t buckets) { return buckets + buckets / 4; }
  static std::uint32_t smaller(std::uint32_t blocks) { return blocks / 3 + 8; }
};

extern template class ShardedTable<BlockLayout>; // in block_map.cpp

// A Block knows its address.
class BlockMap : public ShardedTable<BlockLayout> {
public:
  [[gnu::always_inline]] bool insert(const Block& block) { return ShardedTable::insert(block.address, block); }

  // Calls visit(block) for every live block, in no order. The map must not change meanwhile.
  template <class Visit>
  void for_each(Visit&& visit) const {
    ShardedTable::for_each([&](std::uint64_t, const Block& block) { visit(block); });
  }
};

} // namespace heaptape
