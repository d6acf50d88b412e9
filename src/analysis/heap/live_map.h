// The blocks that are live, by address. 16 bytes per place, never more than 32 bytes per block of the largest live set
// (plus 32 MiB), also while it grows: the table is split into shards that grow one at a time, large ones by a quarter. A
// large shard that is four fifths empty shrinks. One thread at a time.
//
// A bucket is one cache line with four places; looking through it takes no branch that depends on where the block lies. A
// block that finds its home bucket full goes to the next one, and every bucket it passed counts it (in one of four counters,
// by a bit of its hash), so that a search knows where to stop and a block can leave without moving others. A counter that
// reached 3 stays there; a shard with many such is rebuilt.
//
//   word a   bits 0..47   address, 0 = empty        word b   bits 0..43   number of the allocating event
//            bits 48..63  size, bits 0..15                   bits 44..61  size, bits 16..33
//                                                            bits 62..63  one of the bucket's counters
//
// What does not fit (sizes from 16 GiB - 1, event numbers from 2^44, addresses beyond 48 bits) is kept in a side map.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace heaptape {

struct LiveBlock {
  std::uint64_t size = 0;
  std::uint64_t allocated_at = 0; // event number

  friend bool operator==(const LiveBlock&, const LiveBlock&) = default;
};

class LiveMap {
public:
  LiveMap();
  LiveMap(LiveMap&&) noexcept;
  LiveMap& operator=(LiveMap&&) noexcept;
  ~LiveMap();

  // Starts loading the cache line that the next call with this address needs. Always inlined: g++ takes a function that
  // only prefetches for one without effect and drops the call.
  [[gnu::always_inline]] void prefetch(std::uint64_t address) const { __builtin_prefetch(home_of(address), 1); }

  // Makes a block live. False, and nothing changes, when there is one at this address already. Address 0 is never live:
  // the caller must not pass it.
  [[gnu::always_inline]] bool insert(std::uint64_t address, LiveBlock block) {
    if (!fits(address, block)) [[unlikely]]
      return insert_in_side(address, block);
    return insert_place(address, block);
  }

  // Ends a block's life; false when there is none at this address.
  [[gnu::always_inline]] bool take(std::uint64_t address, LiveBlock& block) {
    if (address >> 48 != 0) [[unlikely]]
      return take_from_side(address, block);
    const std::uint64_t hash = hash_of(address);
    Shard& shard = shards_[shard_of(hash)];
    Bucket& bucket = shard.buckets[home(hash, shard.count)];
    const unsigned match = matches(bucket, address);
    if (match == 0) [[unlikely]]
      return take_from_afar(shard, &bucket, address, block);
    take_place(shard, bucket, static_cast<unsigned>(std::countr_zero(match)), address, block);
    return true;
  }

  // False when there is no block at this address.
  bool find(std::uint64_t address, LiveBlock& block) const;

  std::uint64_t size() const { return size_; }
  std::size_t memory_bytes() const;

  // Calls visit(address, block) for every live block, in no order. The map must not change meanwhile.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Shard& shard : shards_) {
      for (std::uint32_t i = 0; i < shard.count; ++i) {
        const Bucket& bucket = shard.buckets[i];
        for (unsigned place = 0; place < kPlaces; ++place) {
          if (bucket.a[place] == 0 || in_side(bucket, place)) continue;
          visit(bucket.a[place] & kAddressMask, block_at(bucket, place));
        }
      }
    }
    for (const auto& [address, block] : side_) visit(address, block);
  }

private:
  static constexpr unsigned kPlaces = 4;
  struct alignas(64) Bucket {
    std::uint64_t a[kPlaces];
    std::uint64_t b[kPlaces];
  };
  struct Shard {
    Bucket* buckets = nullptr;
    std::uint32_t count = 0; // of buckets
    std::uint32_t blocks = 0;
    std::uint32_t grow_at = 0; // blocks
    std::uint32_t shrink_below = 0;
    std::uint32_t stuck = 0;      // counters that reached 3
    std::uint32_t most_stuck = 0; // then it is rebuilt
  };

  static constexpr unsigned kShardBits = 6;
  static constexpr unsigned kEventBits = 44;
  static constexpr unsigned kSizeBits = 34;
  static constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << 48) - 1;
  static constexpr std::uint64_t kEventMask = (std::uint64_t{1} << kEventBits) - 1;
  static constexpr std::uint64_t kPassedMask = std::uint64_t{3} << 62;
  static constexpr std::uint64_t kSideSize = (std::uint64_t{1} << kSizeBits) - 1; // "see the side map"

  // One multiplication would do for random addresses; for a heap's regular ones it leaves regular crowds.
  static std::uint64_t hash_of(std::uint64_t address) {
    std::uint64_t hash = address * 0x9e37'79b9'7f4a'7c15u;
    hash ^= hash >> 32;
    return hash * 0xd6e8'feb8'6659'fd93u;
  }
  static std::size_t shard_of(std::uint64_t hash) { return hash >> (64 - kShardBits); }
  // Monotone in the hash, so that growing a shard goes over old and new memory in order.
  static std::size_t home(std::uint64_t hash, std::uint32_t count) {
    return static_cast<std::size_t>(((hash << kShardBits) >> 32) * count >> 32);
  }
  Bucket* home_of(std::uint64_t address) const {
    const std::uint64_t hash = hash_of(address);
    const Shard& shard = shards_[shard_of(hash)];
    return shard.buckets + home(hash, shard.count);
  }
  static Bucket* next(const Shard& shard, Bucket* bucket) {
    return bucket + 1 == shard.buckets + shard.count ? shard.buckets : bucket + 1;
  }

  // Bit i: place i holds this address; with address 0: place i is empty.
  static unsigned matches(const Bucket& bucket, std::uint64_t address) {
    const auto is_at = [&](unsigned place) { return static_cast<unsigned>((bucket.a[place] ^ address) << 16 == 0); };
    return is_at(0) | is_at(1) << 1 | is_at(2) << 2 | is_at(3) << 3; // written out: the loop is not unrolled at -O2
  }
  // Which counter a block uses: bits of the hash that say nothing about its home.
  static unsigned counter_of(std::uint64_t hash) { return static_cast<unsigned>(hash >> 24) & 3; }
  static bool was_passed(const Bucket& bucket, unsigned counter) { return bucket.b[counter] >> 62 != 0; }

  static bool fits(std::uint64_t address, const LiveBlock& block) {
    return (address >> 48 | block.allocated_at >> kEventBits) == 0 && block.size < kSideSize;
  }
  static std::uint64_t size_at(const Bucket& bucket, unsigned place) {
    return bucket.a[place] >> 48 | ((bucket.b[place] & ~kPassedMask) >> kEventBits) << 16;
  }
  static LiveBlock block_at(const Bucket& bucket, unsigned place) {
    return {size_at(bucket, place), bucket.b[place] & kEventMask};
  }
  static bool in_side(const Bucket& bucket, unsigned place) { return size_at(bucket, place) == kSideSize; }
  static void fill(Bucket& bucket, unsigned place, std::uint64_t address, const LiveBlock& block) {
    bucket.a[place] = address | block.size << 48;
    bucket.b[place] = (bucket.b[place] & kPassedMask) | block.allocated_at | (block.size >> 16) << kEventBits;
  }

  [[gnu::always_inline]] bool insert_place(std::uint64_t address, const LiveBlock& block) {
    const std::uint64_t hash = hash_of(address);
    Shard& shard = shards_[shard_of(hash)];
    Bucket& bucket = shard.buckets[home(hash, shard.count)];
    if (matches(bucket, address) != 0) [[unlikely]]
      return false;
    const unsigned empty = matches(bucket, 0);
    if (empty == 0 || was_passed(bucket, counter_of(hash))) [[unlikely]] {
      if (!insert_afar(shard, &bucket, address, block)) return false;
    } else {
      fill(bucket, static_cast<unsigned>(std::countr_zero(empty)), address, block);
    }
    ++size_;
    if (++shard.blocks >= shard.grow_at) [[unlikely]]
      grow(shard);
    return true;
  }

  [[gnu::always_inline]] void take_place(Shard& shard, Bucket& bucket, unsigned place, std::uint64_t address,
                                         LiveBlock& block) {
    if (in_side(bucket, place)) [[unlikely]]
      take_from_side(address, block);
    else
      block = block_at(bucket, place);
    bucket.a[place] = 0;
    bucket.b[place] &= kPassedMask;
    --size_;
    if (--shard.blocks < shard.shrink_below) [[unlikely]]
      shrink(shard);
  }

  static void place_from(Shard& shard, Bucket* bucket, std::uint64_t a, std::uint64_t b, unsigned counter);
  static bool insert_afar(Shard& shard, Bucket* home, std::uint64_t address, LiveBlock block);
  bool take_from_afar(Shard& shard, Bucket* home, std::uint64_t address, LiveBlock& block);
  bool insert_in_side(std::uint64_t address, LiveBlock block);
  bool take_from_side(std::uint64_t address, LiveBlock& block);
  static void grow(Shard& shard);
  static void shrink(Shard& shard);
  static void resize(Shard& shard, std::uint32_t count);

  std::array<Shard, std::size_t{1} << kShardBits> shards_;
  std::uint64_t size_ = 0;
  std::unordered_map<std::uint64_t, LiveBlock> side_;
};

} // namespace heaptape
