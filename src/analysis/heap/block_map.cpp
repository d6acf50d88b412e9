#include "analysis/heap/block_map.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "analysis/heap/table_memory.h"

namespace heaptape {

namespace {

constexpr std::uint32_t kFewest = 8;        // buckets of a shard
constexpr std::uint32_t kFewToShrink = 512; // a smaller shard is not worth it: 64 KiB
// Of five places 3.8 are taken when a shard grows, and 3.04 right after.
constexpr std::uint32_t full_at(std::uint32_t buckets) { return buckets * 19 / 5; }

} // namespace

BlockMap::BlockMap() {
  for (Shard& shard : shards_) resize(shard, kFewest);
}

BlockMap::BlockMap(BlockMap&& other) noexcept : BlockMap() { *this = std::move(other); }

BlockMap& BlockMap::operator=(BlockMap&& other) noexcept {
  std::swap(shards_, other.shards_);
  std::swap(size_, other.size_);
  std::swap(side_, other.side_);
  return *this;
}

BlockMap::~BlockMap() {
  for (Shard& shard : shards_) release_table(shard.buckets, shard.count * sizeof(Bucket));
}

std::size_t BlockMap::memory_bytes() const {
  std::size_t bytes = sizeof(*this) + side_.size() * 80;
  for (const Shard& shard : shards_) bytes += shard.count * sizeof(Bucket);
  return bytes;
}

// The first bucket with room from `bucket` on, and the place; those that had none count the block that goes by.
BlockMap::Bucket* BlockMap::with_room(Shard& shard, Bucket* bucket, unsigned counter, unsigned& place) {
  while ((place = empty_place(*bucket)) == kNone) {
    if ((bucket->tags >> counter & 0xff) != 0xff) bucket->tags += std::uint64_t{1} << counter;
    bucket = next(shard, bucket);
  }
  return bucket;
}

bool BlockMap::insert_afar(Shard& shard, Bucket* home, std::uint64_t hash, const Block& block) {
  const unsigned counter = counter_of(hash);
  for (Bucket* bucket = home; was_passed(*bucket, counter);) {
    bucket = next(shard, bucket);
    if (bucket == home) break;
    if (find_in(*bucket, hash, block.address) != kNone) return false;
  }
  unsigned place = 0;
  Bucket* const bucket = with_room(shard, home, counter, place);
  fill(*bucket, place, hash, block);
  return true;
}

bool BlockMap::take_from_afar(Shard& shard, Bucket* home, std::uint64_t hash, std::uint64_t address, Block& block) {
  const unsigned counter = counter_of(hash);
  Bucket* bucket = home;
  unsigned place = kNone;
  while (place == kNone) {
    if (!was_passed(*bucket, counter)) return false;
    bucket = next(shard, bucket);
    if (bucket == home) return false;
    place = find_in(*bucket, hash, address);
  }
  for (Bucket* between = home; between != bucket; between = next(shard, between)) {
    if ((between->tags >> counter & 0xff) != 0xff) between->tags -= std::uint64_t{1} << counter;
  }
  take_place(shard, *bucket, place, address, block);
  return true;
}

std::optional<Block> BlockMap::find(std::uint64_t address) const {
  if (address >> 48 == 0) {
    const std::uint64_t hash = hash_of(address);
    const Shard& shard = shards_[shard_of(hash)];
    Bucket* const start = shard.buckets + home(hash, shard.count);
    Bucket* bucket = start;
    unsigned place = find_in(*bucket, hash, address);
    while (place == kNone) {
      if (!was_passed(*bucket, counter_of(hash))) return std::nullopt;
      bucket = next(shard, bucket);
      if (bucket == start) return std::nullopt;
      place = find_in(*bucket, hash, address);
    }
    if (!in_side(*bucket, place)) return block_at(*bucket, place);
  }
  const auto found = side_.find(address);
  if (found == side_.end()) return std::nullopt;
  return found->second;
}

void BlockMap::reserve(std::uint64_t blocks) {
  // A shard gets a little more than its share; the few that get much more still grow.
  const std::uint64_t share = blocks / shards_.size() + blocks / shards_.size() / 16;
  const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(share * 5 / 19 + 1, std::uint32_t{1} << 30));
  for (Shard& shard : shards_) {
    if (shard.count < count) resize(shard, count);
  }
}

void BlockMap::grow(Shard& shard) { resize(shard, shard.count + shard.count / 4); }

void BlockMap::shrink(Shard& shard) {
  const std::uint32_t wanted = shard.blocks / 3 + kFewest;
  if (wanted < shard.count) resize(shard, wanted);
}

void BlockMap::resize(Shard& shard, std::uint32_t count) {
  const Shard old = shard;
  shard.buckets = static_cast<Bucket*>(allocate_zeroed(count * sizeof(Bucket), alignof(Bucket)));
  shard.count = count;
  shard.grow_at = full_at(count);
  shard.shrink_below = count > kFewToShrink ? full_at(count) / 4 : 0; // far from full: a swing does not resize twice
  for (std::uint32_t i = 0; i < old.count; ++i) {
    const Bucket& bucket = old.buckets[i];
    for (unsigned from = 0; from < kPlaces; ++from) {
      if (is_empty(bucket, from)) continue;
      const std::uint64_t hash = hash_of(bucket.a[from] & kAddressMask);
      unsigned place = 0;
      Bucket* const to = with_room(shard, shard.buckets + home(hash, count), counter_of(hash), place);
      to->tags |= tag_of(hash) << 8 * place;
      to->a[place] = bucket.a[from];
      to->b[place] = bucket.b[from];
      to->c[place] = bucket.c[from];
    }
  }
  if (old.buckets != nullptr) release_table(old.buckets, old.count * sizeof(Bucket));
}

bool BlockMap::insert_in_side(const Block& block) {
  if (block.address >> 48 != 0) {
    if (!side_.emplace(block.address, block).second) return false;
    ++size_;
    return true;
  }
  if (!insert_place({block.address, kSideSize, 0, 0, 0})) return false;
  side_[block.address] = block;
  return true;
}

bool BlockMap::take_from_side(std::uint64_t address, Block& block) {
  const auto found = side_.find(address);
  if (found == side_.end()) return false;
  block = found->second;
  side_.erase(found);
  if (address >> 48 != 0) --size_;
  return true;
}

} // namespace heaptape
