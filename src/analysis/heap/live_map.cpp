#include "analysis/heap/live_map.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "analysis/heap/table_memory.h"

namespace heaptape {

namespace {

constexpr std::uint32_t kFewest = 8;                   // buckets of a shard
constexpr std::uint64_t kOne = std::uint64_t{1} << 62; // in a bucket's counter
// Of four places 2.8 are taken when a shard grows, and 2.24 right after: 28.6 bytes per block.
constexpr std::uint32_t full_at(std::uint32_t buckets) { return buckets * 14 / 5; }

// Up to here, 32 MiB over all shards, memory is cheaper than moving blocks: shards double, and stay.
constexpr std::uint32_t kThrifty = 8192;

} // namespace

LiveMap::LiveMap() {
  for (Shard& shard : shards_) resize(shard, kFewest);
}

LiveMap::LiveMap(LiveMap&& other) noexcept : LiveMap() { *this = std::move(other); }

LiveMap& LiveMap::operator=(LiveMap&& other) noexcept {
  std::swap(shards_, other.shards_);
  std::swap(size_, other.size_);
  std::swap(side_, other.side_);
  return *this;
}

LiveMap::~LiveMap() {
  for (Shard& shard : shards_) release_table(shard.buckets, shard.count * sizeof(Bucket));
}

std::size_t LiveMap::memory_bytes() const {
  std::size_t bytes = sizeof(*this) + side_.size() * 64;
  for (const Shard& shard : shards_) bytes += shard.count * sizeof(Bucket);
  return bytes;
}

// Puts the two words into the first bucket with room from `bucket` on, and counts it in those that had none.
void LiveMap::place_from(Shard& shard, Bucket* bucket, std::uint64_t a, std::uint64_t b, unsigned counter) {
  while (true) {
    if (const unsigned empty = matches(*bucket, 0); empty != 0) {
      const auto place = static_cast<unsigned>(std::countr_zero(empty));
      bucket->a[place] = a;
      bucket->b[place] = (bucket->b[place] & kPassedMask) | b;
      return;
    }
    if (bucket->b[counter] >> 62 < 3) {
      bucket->b[counter] += kOne;
      if (bucket->b[counter] >> 62 == 3) ++shard.stuck;
    }
    bucket = next(shard, bucket);
  }
}

bool LiveMap::insert_afar(Shard& shard, Bucket* home, std::uint64_t address, LiveBlock block) {
  const unsigned counter = counter_of(hash_of(address));
  for (Bucket* bucket = home; was_passed(*bucket, counter);) {
    bucket = next(shard, bucket);
    if (bucket == home) break;
    if (matches(*bucket, address) != 0) return false;
  }
  const std::uint64_t b = block.allocated_at | (block.size >> 16) << kEventBits;
  place_from(shard, home, address | block.size << 48, b, counter);
  if (shard.stuck > shard.most_stuck) shard.grow_at = 0; // the caller rebuilds
  return true;
}

bool LiveMap::take_from_afar(Shard& shard, Bucket* home, std::uint64_t address, LiveBlock& block) {
  const unsigned counter = counter_of(hash_of(address));
  Bucket* bucket = home;
  unsigned match = 0;
  while (match == 0) {
    if (!was_passed(*bucket, counter)) return false;
    bucket = next(shard, bucket);
    if (bucket == home) return false;
    match = matches(*bucket, address);
  }
  for (Bucket* between = home; between != bucket; between = next(shard, between)) {
    if (between->b[counter] >> 62 < 3) between->b[counter] -= kOne;
  }
  take_place(shard, *bucket, static_cast<unsigned>(std::countr_zero(match)), address, block);
  return true;
}

bool LiveMap::find(std::uint64_t address, LiveBlock& block) const {
  if (address >> 48 == 0) {
    const std::uint64_t hash = hash_of(address);
    const Shard& shard = shards_[shard_of(hash)];
    Bucket* const start = shard.buckets + home(hash, shard.count);
    Bucket* bucket = start;
    unsigned match = matches(*bucket, address);
    while (match == 0) {
      if (!was_passed(*bucket, counter_of(hash))) return false;
      bucket = next(shard, bucket);
      if (bucket == start) return false;
      match = matches(*bucket, address);
    }
    const auto place = static_cast<unsigned>(std::countr_zero(match));
    if (!in_side(*bucket, place)) {
      block = block_at(*bucket, place);
      return true;
    }
  }
  const auto found = side_.find(address);
  if (found == side_.end()) return false;
  block = found->second;
  return true;
}

// Full, or with too many counters stuck; then the same size will do.
void LiveMap::grow(Shard& shard) {
  const bool full = shard.blocks >= full_at(shard.count);
  const std::uint32_t larger = shard.count < kThrifty ? 2 * shard.count : shard.count + shard.count / 4;
  resize(shard, full ? larger : shard.count);
}

void LiveMap::shrink(Shard& shard) {
  const std::uint32_t wanted = std::max(shard.blocks / 2 + kFewest, kThrifty);
  if (wanted < shard.count) resize(shard, wanted);
}

void LiveMap::resize(Shard& shard, std::uint32_t count) {
  const Shard old = shard;
  shard.buckets = static_cast<Bucket*>(allocate_zeroed(count * sizeof(Bucket), alignof(Bucket)));
  shard.count = count;
  shard.stuck = 0;
  shard.most_stuck = ~std::uint32_t{0};
  shard.grow_at = full_at(count);
  shard.shrink_below = count > kThrifty ? full_at(count) / 4 : 0; // far from full: a swing does not resize twice
  for (std::uint32_t i = 0; i < old.count; ++i) {
    const Bucket& bucket = old.buckets[i];
    for (unsigned place = 0; place < kPlaces; ++place) {
      if (bucket.a[place] == 0) continue;
      const std::uint64_t hash = hash_of(bucket.a[place] & kAddressMask);
      Bucket* const at = shard.buckets + home(hash, count);
      place_from(shard, at, bucket.a[place], bucket.b[place] & ~kPassedMask, counter_of(hash));
    }
  }
  shard.most_stuck = shard.stuck + count / 8 + kFewest; // enough more to be worth the work again
  if (old.buckets != nullptr) release_table(old.buckets, old.count * sizeof(Bucket));
}

bool LiveMap::insert_in_side(std::uint64_t address, LiveBlock block) {
  if (address >> 48 != 0) {
    if (!side_.emplace(address, block).second) return false;
    ++size_;
    return true;
  }
  if (!insert_place(address, LiveBlock{kSideSize, 0})) return false;
  side_[address] = block;
  return true;
}

bool LiveMap::take_from_side(std::uint64_t address, LiveBlock& block) {
  const auto found = side_.find(address);
  if (found == side_.end()) return false;
  block = found->second;
  side_.erase(found);
  if (address >> 48 != 0) --size_;
  return true;
}

} // namespace heaptape
