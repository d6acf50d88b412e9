// Live blocks by address: the table under LiveMap and BlockMap. They differ only in their Layout, which says what is kept of a block
// and how a bucket of one or two cache lines holds it. One thread at a time.
//
//   shard     Six bits of the hash choose it. Each grows and shrinks alone, so that at most a 64th of the blocks is ever there twice.
//   bucket    A few places for blocks. The next bits of the hash name a block's home.
//   counter   A block that finds its home full goes to the next bucket with room, and each bucket that it passed counts it, in one of
//             a few counters chosen by other bits of the hash.
//
// So a search ends at the first bucket that no block with its counter has passed, and a block can leave without moving others: the
// buckets that it had passed count one less. A counter that reached its largest value no longer knows how many passed and stays
// there ("stuck"); searches then may go further than they must, and nothing worse. A shard with many such is rebuilt.
//
// What does not fit a place (addresses beyond 48 bits, huge sizes and numbers) is kept in a side map. When only the value does not
// fit, a place says so (Layout::in_side).
//
// A Layout has
//   Value, Bucket, kPlaces            a Bucket that is all zero is empty
//   fits, in_side_value               which values a place holds, and the one that says "see the side map"
//   find, empty, place_of             bits for the places that hold an address, or nothing; 0: none. The place of the lowest bit.
//   holds, address_at, value_at, in_side, put, copy, clear                           one place
//   counter_of, was_passed, count_passing (true: now it is stuck), count_leaving     the counters
//   kFullFifths                       a shard grows when it has this many blocks per five buckets
//   larger, smaller, kKept            buckets after growing, and after shrinking to N blocks; up to kKept it does not shrink
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <unordered_map>

#include "base/mix.h"

namespace heaptape {

template <class Layout>
class ShardedTable {
public:
  using Value = typename Layout::Value;
  // In registers where it can be: a reference would force it into memory on the way to the rare cases.
  using Passed = std::conditional_t<sizeof(Value) <= 16, Value, const Value&>;

  ShardedTable();
  ShardedTable(ShardedTable&&) noexcept;
  ShardedTable& operator=(ShardedTable&&) noexcept;
  ~ShardedTable();

  // Starts loading the cache lines that the next call with this address needs. Always inlined: g++ takes a function that only
  // prefetches for one without effect and drops the call.
  [[gnu::always_inline]] void prefetch(std::uint64_t address) const {
    const char* bucket = reinterpret_cast<const char*>(home_of(address));
    __builtin_prefetch(bucket, 1);
    if constexpr (sizeof(Bucket) > 64) __builtin_prefetch(bucket + 64, 1);
  }

  // Makes a block live. False, and nothing changes, when there is one at this address already. The address is not 0.
  [[gnu::always_inline]] bool insert(std::uint64_t address, Passed value) {
    if (!Layout::fits(address, value)) [[unlikely]]
      return insert_in_side(address, value);
    return insert_in_place(address, value);
  }

  // Ends a block's life; false when there is none at this address.
  [[gnu::always_inline]] bool take(std::uint64_t address, Value& value) {
    if (address >> 48 != 0) [[unlikely]]
      return take_from_side(address, value);
    const std::uint64_t hash = hash_of(address);
    Shard& shard = shards_[shard_of(hash)];
    Bucket& bucket = shard.buckets[home(hash, shard.count)];
    const auto found = Layout::find(bucket, hash, address);
    if (found == 0) [[unlikely]]
      return take_from_afar(shard, &bucket, hash, address, value);
    take_from_place(shard, bucket, Layout::place_of(found), address, value);
    return true;
  }

  std::optional<Value> find(std::uint64_t address) const;

  // Makes room for this many blocks, so that they need not be moved on the way.
  void reserve(std::uint64_t blocks);

  std::uint64_t size() const { return size_; }
  std::size_t memory_bytes() const;
  void clear() { *this = ShardedTable(); }

  // Calls visit(address, value) for every live block, in no order. The table must not change meanwhile.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Shard& shard : shards_) {
      for (std::uint32_t i = 0; i < shard.count; ++i) {
        const Bucket& bucket = shard.buckets[i];
        for (unsigned place = 0; place < Layout::kPlaces; ++place) {
          if (!Layout::holds(bucket, place) || Layout::in_side(bucket, place)) continue;
          visit(Layout::address_at(bucket, place), Layout::value_at(bucket, place));
        }
      }
    }
    for (const auto& [address, value] : side_) visit(address, value);
  }

private:
  using Bucket = typename Layout::Bucket;
  static_assert(sizeof(Bucket) == 64 || sizeof(Bucket) == 128);
  struct Shard {
    Bucket* buckets = nullptr;
    std::uint32_t count = 0; // of buckets
    std::uint32_t blocks = 0;
    std::uint32_t grow_at = 0; // blocks
    std::uint32_t shrink_below = 0;
    std::uint32_t stuck = 0;      // counters
    std::uint32_t most_stuck = 0; // then it is rebuilt
  };
  struct Spot {
    Bucket* bucket;
    unsigned place;
  };

  static constexpr unsigned kShardBits = 6;
  static constexpr std::uint32_t kFewest = 8; // buckets of a shard
  static constexpr std::uint32_t full_at(std::uint32_t buckets) { return buckets * Layout::kFullFifths / 5; }

  // One multiplication would do for random addresses; for a heap's regular ones it leaves regular crowds.
  static std::uint64_t hash_of(std::uint64_t address) {
    std::uint64_t hash = mix(address);
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

  [[gnu::always_inline]] bool insert_in_place(std::uint64_t address, Passed value) {
    const std::uint64_t hash = hash_of(address);
    Shard& shard = shards_[shard_of(hash)];
    Bucket& bucket = shard.buckets[home(hash, shard.count)];
    if (Layout::find(bucket, hash, address) != 0) [[unlikely]]
      return false;
    const auto empty = Layout::empty(bucket);
    if (empty == 0 || Layout::was_passed(bucket, Layout::counter_of(hash))) [[unlikely]] {
      if (!insert_afar(shard, &bucket, hash, address, value)) return false;
    } else {
      Layout::put(bucket, Layout::place_of(empty), hash, address, value);
    }
    ++size_;
    if (++shard.blocks >= shard.grow_at) [[unlikely]]
      grow(shard);
    return true;
  }

  [[gnu::always_inline]] void take_from_place(Shard& shard, Bucket& bucket, unsigned place, std::uint64_t address,
                                              Value& value) {
    if (Layout::in_side(bucket, place)) [[unlikely]]
      take_from_side(address, value);
    else
      value = Layout::value_at(bucket, place);
    Layout::clear(bucket, place);
    --size_;
    if (--shard.blocks < shard.shrink_below) [[unlikely]]
      shrink(shard);
  }

  [[gnu::always_inline]] static Spot spot_from(Shard& shard, Bucket* bucket, unsigned counter);
  static bool insert_afar(Shard& shard, Bucket* home, std::uint64_t hash, std::uint64_t address, Passed value);
  bool take_from_afar(Shard& shard, Bucket* home, std::uint64_t hash, std::uint64_t address, Value& value);
  bool insert_in_side(std::uint64_t address, Passed value);
  bool take_from_side(std::uint64_t address, Value& value);
  static void grow(Shard& shard);
  static void shrink(Shard& shard);
  static void resize(Shard& shard, std::uint32_t count);

  std::array<Shard, std::size_t{1} << kShardBits> shards_;
  std::uint64_t size_ = 0;
  std::unordered_map<std::uint64_t, Value> side_;
};

} // namespace heaptape
