// The freed blocks of one thread and size class, in the order in which glibc's malloc hands them out again: a cache of
// seven, last in first out, and behind it a queue for what did not fit. Part of the tape format: see
// docs/tape-format.md.
#pragma once

#include <cstdint>

namespace heaptape::codec {

struct FreedList {
  static constexpr std::uint32_t kCacheSize = 7;
  static constexpr std::uint32_t kQueueSize = 9;
  static constexpr std::uint32_t kNotFound = kCacheSize + kQueueSize;

  std::uint32_t cached;
  std::uint32_t queued;
  std::uint64_t cache[kCacheSize];
  std::uint64_t queue[kQueueSize];

  void push(std::uint64_t address) {
    if (cached < kCacheSize) [[likely]] {
      cache[cached++] = address;
      return;
    }
    push_to_queue(address);
  }

  // The block that an allocation gets next; 0 when there is none. calloc does not look into the cache.
  std::uint64_t next(bool use_cache) const {
    if (use_cache && cached != 0) return cache[cached - 1];
    return queued != 0 ? queue[queued - 1] : 0;
  }
  // Takes out what next() gave. When it came from the queue, the rest of the queue moves into the cache.
  void pop(bool use_cache) {
    if (use_cache && cached != 0) {
      --cached;
    } else if (queued != 0) {
      --queued;
      while (cached < kCacheSize && queued != 0) cache[cached++] = queue[--queued];
    }
  }

  // Where an address is, newest first, cache before queue; kNotFound if it is not here.
  std::uint32_t find(std::uint64_t address) const {
    for (std::uint32_t i = 0; i < cached; ++i)
      if (cache[cached - 1 - i] == address) return i;
    for (std::uint32_t i = 0; i < queued; ++i)
      if (queue[queued - 1 - i] == address) return cached + i;
    return kNotFound;
  }
  // Takes out the address at a position of find(), which must be below cached + queued.
  std::uint64_t take(std::uint32_t position) {
    if (position < cached) return remove(cache, cached, cached - 1 - position);
    return remove(queue, queued, queued - 1 - (position - cached));
  }

private:
  [[gnu::noinline]] void push_to_queue(std::uint64_t address) {
    if (queued == kQueueSize) remove(queue, queued, 0); // the oldest is forgotten
    queue[queued++] = address;
  }
  static std::uint64_t remove(std::uint64_t* addresses, std::uint32_t& count, std::uint32_t at) {
    const std::uint64_t address = addresses[at];
    --count;
    for (; at < count; ++at) addresses[at] = addresses[at + 1];
    return address;
  }
};

} // namespace heaptape::codec
