// The live blocks with all that is known of each, by address: where LiveMap remembers enough to record, this remembers enough to
// answer. 24 bytes per place and about 36 per block, also while it grows: the table is split into shards that grow one at a
// time, each by a quarter. A shard that is four fifths empty shrinks. One thread at a time.
//
// A bucket is two cache lines with five places, and a word in front that says what is in them: a byte of each block's hash, so that
// a few operations on that word find the place. A block that finds its home bucket full goes to the next one, and every bucket it
// passed counts it (in one of three counters, by bits of its hash), so that a search knows where to stop and a block can leave
// without moving others. A counter that reached 255 stays there.
//
//   word tags   bytes 0..4  per place 0 = empty, else 0x80 + seven bits of the hash       bytes 5..7  counters
//   word a      bits 0..47  address         word b   bits 0..39   event          word c   bits 0..39   time
//               bits 48..63 owner,                   bits 40..63  size,                   bits 40..49  size, bits 24..33
//                           bits 0..15                            bits 0..23              bits 50..61  owner, bits 16..27
//
// What does not fit (sizes from 16 GiB - 1, event numbers and times from 2^40, owners from 2^28, addresses beyond 48 bits) is kept in
// a side map.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

namespace heaptape {

struct Block {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t event = 0; // that made it
  std::uint64_t time_us = 0;
  std::uint32_t owner = 0; // number in an OwnerTable

  friend bool operator==(const Block&, const Block&) = default;
};

class BlockMap {
public:
  BlockMap();
  BlockMap(BlockMap&&) noexcept;
  BlockMap& operator=(BlockMap&&) noexcept;
  ~BlockMap();

  // Starts loading the cache lines that the next call with this address needs. Always inlined: g++ takes a function that
  // only prefetches for one without effect and drops the call.
  [[gnu::always_inline]] void prefetch(std::uint64_t address) const {
    const Bucket* bucket = home_of(address);
    __builtin_prefetch(bucket, 1);
    __builtin_prefetch(reinterpret_cast<const char*>(bucket) + 64, 1);
  }

  // Makes a block live. False, and nothing changes, when there is one at this address already. The address is not 0.
  [[gnu::always_inline]] bool insert(const Block& block) {
    if (!fits(block)) [[unlikely]]
      return insert_in_side(block);
    return insert_place(block);
  }

  // Ends a block's life; false when there is none at this address.
  [[gnu::always_inline]] bool take(std::uint64_t address, Block& block) {
    if (address >> 48 != 0) [[unlikely]]
      return take_from_side(address, block);
    const std::uint64_t hash = hash_of(address);
    Shard& shard = shards_[shard_of(hash)];
    Bucket& bucket = shard.buckets[home(hash, shard.count)];
    const unsigned place = find_in(bucket, hash, address);
    if (place == kNone) [[unlikely]]
      return take_from_afar(shard, &bucket, hash, address, block);
    take_place(shard, bucket, place, address, block);
    return true;
  }

  std::optional<Block> find(std::uint64_t address) const;

  // Makes room for so many, so that they need not be moved on the way.
  void reserve(std::uint64_t blocks);

  std::uint64_t size() const { return size_; }
  std::size_t memory_bytes() const;
  void clear() { *this = BlockMap(); }

  // Calls visit(block) for every live block, in no order. The map must not change meanwhile.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Shard& shard : shards_) {
      for (std::uint32_t i = 0; i < shard.count; ++i) {
        const Bucket& bucket = shard.buckets[i];
        for (unsigned place = 0; place < kPlaces; ++place) {
          if (is_empty(bucket, place) || in_side(bucket, place)) continue;
          visit(block_at(bucket, place));
        }
      }
    }
    for (const auto& [address, block] : side_) visit(block);
  }

private:
  static constexpr unsigned kPlaces = 5;
  static constexpr unsigned kNone = kPlaces; // no place
  struct alignas(128) Bucket {
    std::uint64_t tags;
    std::uint64_t a[kPlaces];
    std::uint64_t b[kPlaces];
    std::uint64_t c[kPlaces];
  };
  static_assert(sizeof(Bucket) == 128);
  struct Shard {
    Bucket* buckets = nullptr;
    std::uint32_t count = 0; // of buckets
    std::uint32_t blocks = 0;
    std::uint32_t grow_at = 0; // blocks
    std::uint32_t shrink_below = 0;
  };

  static constexpr unsigned kShardBits = 6;
  static constexpr unsigned kNumberBits = 40; // of events and times
  static constexpr unsigned kSizeBits = 34;
  static constexpr unsigned kOwnerBits = 28;
  static constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << 48) - 1;
  static constexpr std::uint64_t kNumberMask = (std::uint64_t{1} << kNumberBits) - 1;
  static constexpr std::uint64_t kSideSize = (std::uint64_t{1} << kSizeBits) - 1; // "see the side map"

  // As LiveMap's: one multiplication would leave regular crowds of a heap's regular addresses.
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

  static constexpr std::uint64_t kOnes = 0x01'0101'0101, kTops = 0x80'8080'8080; // a bit for each place
  // Of the hash, bits that say nothing about a block's home.
  static std::uint64_t tag_of(std::uint64_t hash) { return 0x80 | (hash >> 12 & 0x7f); }
  // Where in the word its counter begins.
  static unsigned counter_of(std::uint64_t hash) { return 40 + 8 * static_cast<unsigned>((hash & 0xff) * 3 >> 8); }
  static bool was_passed(const Bucket& bucket, unsigned counter) { return (bucket.tags >> counter & 0xff) != 0; }

  static bool is_empty(const Bucket& bucket, unsigned place) { return (bucket.tags >> 8 * place & 0xff) == 0; }
  static unsigned empty_place(const Bucket& bucket) {
    const std::uint64_t empty = ~bucket.tags & kTops;
    return empty != 0 ? static_cast<unsigned>(std::countr_zero(empty)) / 8 : kNone;
  }
  // The place that holds this address.
  [[gnu::always_inline]] static unsigned find_in(const Bucket& bucket, std::uint64_t hash, std::uint64_t address) {
    const std::uint64_t differ = bucket.tags ^ tag_of(hash) * kOnes;
    // A bit for every byte that is 0, and maybe some behind it.
    for (std::uint64_t alike = (differ - kOnes) & ~differ & kTops; alike != 0; alike &= alike - 1) {
      const unsigned place = static_cast<unsigned>(std::countr_zero(alike)) / 8;
      if ((bucket.a[place] ^ address) << 16 == 0) [[likely]]
        return place;
    }
    return kNone;
  }

  static bool fits(const Block& block) {
    return (block.address >> 48 | block.event >> kNumberBits | block.time_us >> kNumberBits |
            block.owner >> kOwnerBits) == 0 &&
           block.size < kSideSize;
  }
  static std::uint64_t size_at(const Bucket& bucket, unsigned place) {
    return bucket.b[place] >> kNumberBits | (bucket.c[place] >> kNumberBits & 0x3ff) << 24;
  }
  static Block block_at(const Bucket& bucket, unsigned place) {
    return {bucket.a[place] & kAddressMask, size_at(bucket, place), bucket.b[place] & kNumberMask,
            bucket.c[place] & kNumberMask,
            static_cast<std::uint32_t>(bucket.a[place] >> 48 | bucket.c[place] >> 50 << 16)};
  }
  static bool in_side(const Bucket& bucket, unsigned place) { return size_at(bucket, place) == kSideSize; }
  static void fill(Bucket& bucket, unsigned place, std::uint64_t hash, const Block& block) {
    bucket.tags |= tag_of(hash) << 8 * place;
    bucket.a[place] = block.address | std::uint64_t{block.owner} << 48;
    bucket.b[place] = block.event | block.size << kNumberBits;
    bucket.c[place] = block.time_us | (block.size >> 24) << kNumberBits | std::uint64_t{block.owner >> 16} << 50;
  }

  [[gnu::always_inline]] bool insert_place(const Block& block) {
    const std::uint64_t hash = hash_of(block.address);
    Shard& shard = shards_[shard_of(hash)];
    Bucket& bucket = shard.buckets[home(hash, shard.count)];
    if (find_in(bucket, hash, block.address) != kNone) [[unlikely]]
      return false;
    const unsigned place = empty_place(bucket);
    if (place == kNone || was_passed(bucket, counter_of(hash))) [[unlikely]] {
      if (!insert_afar(shard, &bucket, hash, block)) return false;
    } else {
      fill(bucket, place, hash, block);
    }
    ++size_;
    if (++shard.blocks >= shard.grow_at) [[unlikely]]
      grow(shard);
    return true;
  }

  [[gnu::always_inline]] void take_place(Shard& shard, Bucket& bucket, unsigned place, std::uint64_t address,
                                         Block& block) {
    if (in_side(bucket, place)) [[unlikely]]
      take_from_side(address, block);
    else
      block = block_at(bucket, place);
    bucket.tags &= ~(std::uint64_t{0xff} << 8 * place);
    --size_;
    if (--shard.blocks < shard.shrink_below) [[unlikely]]
      shrink(shard);
  }

  static Bucket* with_room(Shard& shard, Bucket* bucket, unsigned counter, unsigned& place);
  static bool insert_afar(Shard& shard, Bucket* home, std::uint64_t hash, const Block& block);
  bool take_from_afar(Shard& shard, Bucket* home, std::uint64_t hash, std::uint64_t address, Block& block);
  bool insert_in_side(const Block& block);
  bool take_from_side(std::uint64_t address, Block& block);
  static void grow(Shard& shard);
  static void shrink(Shard& shard);
  static void resize(Shard& shard, std::uint32_t count);

  std::array<Shard, std::size_t{1} << kShardBits> shards_;
  std::uint64_t size_ = 0;
  std::unordered_map<std::uint64_t, Block> side_;
};

} // namespace heaptape
