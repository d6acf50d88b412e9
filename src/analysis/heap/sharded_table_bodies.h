// The rare cases of ShardedTable, which are not worth inlining: only for the source file that instantiates a table.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "analysis/heap/sharded_table.h"
#include "analysis/heap/table_memory.h"

namespace heaptape {

template <class Layout>
ShardedTable<Layout>::ShardedTable() {
  for (Shard& shard : shards_) resize(shard, kFewest);
}

template <class Layout>
ShardedTable<Layout>::ShardedTable(ShardedTable&& other) noexcept : ShardedTable() {
  *this = std::move(other);
}

template <class Layout>
ShardedTable<Layout>& ShardedTable<Layout>::operator=(ShardedTable&& other) noexcept {
  std::swap(shards_, other.shards_);
  std::swap(size_, other.size_);
  std::swap(side_, other.side_);
  return *this;
}

template <class Layout>
ShardedTable<Layout>::~ShardedTable() {
  for (Shard& shard : shards_) release_table(shard.buckets, shard.count * sizeof(Bucket));
}

template <class Layout>
std::size_t ShardedTable<Layout>::memory_bytes() const {
  constexpr std::size_t kSideBytes = sizeof(Value) + 40; // with the key, a pointer or two and malloc's own
  std::size_t bytes = sizeof(*this) + side_.size() * kSideBytes;
  for (const Shard& shard : shards_) bytes += shard.count * sizeof(Bucket);
  return bytes;
}

// The first place with room from `bucket` on; the buckets that have none count the block that passes them.
template <class Layout>
inline auto ShardedTable<Layout>::spot_from(Shard& shard, Bucket* bucket, unsigned counter) -> Spot {
  while (true) {
    if (const auto empty = Layout::empty(*bucket); empty != 0) return {bucket, Layout::place_of(empty)};
    if (Layout::count_passing(*bucket, counter)) ++shard.stuck;
    bucket = next(shard, bucket);
  }
}

template <class Layout>
bool ShardedTable<Layout>::insert_afar(Shard& shard, Bucket* home, std::uint64_t hash, std::uint64_t address,
                                       Passed value) {
  const unsigned counter = Layout::counter_of(hash);
  for (Bucket* bucket = home; Layout::was_passed(*bucket, counter);) {
    bucket = next(shard, bucket);
    if (bucket == home) break;
    if (Layout::find(*bucket, hash, address) != 0) return false;
  }
  const Spot spot = spot_from(shard, home, counter);
  Layout::put(*spot.bucket, spot.place, hash, address, value);
  if (shard.stuck > shard.most_stuck) shard.grow_at = 0; // the caller rebuilds
  return true;
}

template <class Layout>
bool ShardedTable<Layout>::take_from_afar(Shard& shard, Bucket* home, std::uint64_t hash, std::uint64_t address,
                                          Value& value) {
  const unsigned counter = Layout::counter_of(hash);
  Bucket* bucket = home;
  decltype(Layout::empty(*home)) found = 0;
  while (found == 0) {
    if (!Layout::was_passed(*bucket, counter)) return false;
    bucket = next(shard, bucket);
    if (bucket == home) return false;
    found = Layout::find(*bucket, hash, address);
  }
  for (Bucket* between = home; between != bucket; between = next(shard, between))
    Layout::count_leaving(*between, counter);
  take_from_place(shard, *bucket, Layout::place_of(found), address, value);
  return true;
}

template <class Layout>
auto ShardedTable<Layout>::find(std::uint64_t address) const -> std::optional<Value> {
  if (address >> 48 == 0) {
    const std::uint64_t hash = hash_of(address);
    const Shard& shard = shards_[shard_of(hash)];
    Bucket* const start = shard.buckets + home(hash, shard.count);
    Bucket* bucket = start;
    auto found = Layout::find(*bucket, hash, address);
    while (found == 0) {
      if (!Layout::was_passed(*bucket, Layout::counter_of(hash))) return std::nullopt;
      bucket = next(shard, bucket);
      if (bucket == start) return std::nullopt;
      found = Layout::find(*bucket, hash, address);
    }
    const unsigned place = Layout::place_of(found);
    if (!Layout::in_side(*bucket, place)) return Layout::value_at(*bucket, place);
  }
  const auto found = side_.find(address);
  if (found == side_.end()) return std::nullopt;
  return found->second;
}

template <class Layout>
void ShardedTable<Layout>::reserve(std::uint64_t blocks) {
  // A shard gets a little more than its share; the few that get much more still grow.
  const std::uint64_t share = blocks / shards_.size() + blocks / shards_.size() / 16;
  const auto count =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(share * 5 / Layout::kFullFifths + 1, std::uint32_t{1} << 30));
  for (Shard& shard : shards_) {
    if (shard.count < count) resize(shard, count);
  }
}

// Full, or with too many counters stuck; then the same size will do.
template <class Layout>
void ShardedTable<Layout>::grow(Shard& shard) {
  const bool full = shard.blocks >= full_at(shard.count);
  resize(shard, full ? Layout::larger(shard.count) : shard.count);
}

template <class Layout>
void ShardedTable<Layout>::shrink(Shard& shard) {
  const std::uint32_t wanted = Layout::smaller(shard.blocks);
  if (wanted < shard.count) resize(shard, wanted);
}

template <class Layout>
void ShardedTable<Layout>::resize(Shard& shard, std::uint32_t count) {
  const Shard old = shard;
  shard.buckets = static_cast<Bucket*>(allocate_zeroed(count * sizeof(Bucket), alignof(Bucket)));
  shard.count = count;
  shard.stuck = 0;
  shard.grow_at = full_at(count);
  shard.shrink_below = count > Layout::kKept ? full_at(count) / 4 : 0; // far from full: a swing does not resize twice
  for (std::uint32_t i = 0; i < old.count; ++i) {
    const Bucket& bucket = old.buckets[i];
    for (unsigned from = 0; from < Layout::kPlaces; ++from) {
      if (!Layout::holds(bucket, from)) continue;
      const std::uint64_t hash = hash_of(Layout::address_at(bucket, from));
      const Spot to = spot_from(shard, shard.buckets + home(hash, count), Layout::counter_of(hash));
      Layout::copy(*to.bucket, to.place, hash, bucket, from);
    }
  }
  shard.most_stuck = shard.stuck + count / 8 + kFewest; // enough more to be worth the work again
  if (old.buckets != nullptr) release_table(old.buckets, old.count * sizeof(Bucket));
}

template <class Layout>
bool ShardedTable<Layout>::insert_in_side(std::uint64_t address, Passed value) {
  if (address >> 48 != 0) {
    if (!side_.emplace(address, value).second) return false;
    ++size_;
    return true;
  }
  if (!insert_in_place(address, Layout::in_side_value(address))) return false;
  side_[address] = value;
  return true;
}

template <class Layout>
bool ShardedTable<Layout>::take_from_side(std::uint64_t address, Value& value) {
  const auto found = side_.find(address);
  if (found == side_.end()) return false;
  value = found->second;
  side_.erase(found);
  if (address >> 48 != 0) --size_;
  return true;
}

} // namespace heaptape
