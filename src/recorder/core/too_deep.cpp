#include "recorder/core/too_deep.h"

#include "recorder/core/recorder.h"
#include "recorder/core/stack_memo.h"
#include "wire/stack_roots.h"

namespace heaptape::recorder {

namespace {

constexpr std::uint64_t kSoon = 16;                     // records of the thread between one deep stack and the next
constexpr std::uint64_t kBase = 0x9e37'79b9'7f4a'7c15u; // odd, so that no frame's weight becomes zero

// Frames that the cache holds at most, and after the outermost were dropped.
std::size_t most_kept() noexcept {
  const std::size_t most = g_recorder.max_depth + g_recorder.max_depth / 2;
  return most < kMostFrames ? most : kMostFrames - 1;
}
std::size_t kept_when_full() noexcept { return g_recorder.max_depth + (most_kept() - g_recorder.max_depth) / 2; }

bool has_room() noexcept { return most_kept() >= g_recorder.max_depth + std::size_t{8}; }

bool is_soon(const ThreadState& thread) noexcept {
  return thread.slot->reserved.load(std::memory_order_relaxed) - thread.deep.last <= kSoon;
}

std::uint64_t power(std::uint64_t base, std::size_t exponent) noexcept {
  std::uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1, base *= base) {
    if ((exponent & 1) != 0) result *= base;
  }
  return result;
}

void drop_outermost(ThreadState& thread, std::size_t dropped) noexcept {
  StackCache& cache = thread.cache;
  const std::size_t left = cache.count - dropped;
  const std::size_t extra = cache.details[dropped - 1].extra_end;
  const std::size_t extra_left = cache.details[cache.count - 1].extra_end - extra;
  cache.count = 0; // not valid meanwhile
  for (std::size_t i = 0; i < left; ++i) {
    cache.returns.set(i, cache.returns.addresses[i + dropped], cache.returns.values[i + dropped]);
    cache.details[i] = cache.details[i + dropped];
    cache.details[i].extra_end = static_cast<std::uint16_t>(cache.details[i].extra_end - extra);
    cache.stamps[i] = cache.stamps[i + dropped];
    thread.deep.sums[i] = thread.deep.sums[i + dropped];
  }
  for (std::size_t i = 0; i < extra_left; ++i) {
    cache.extra.set(i, cache.extra.addresses[i + extra], cache.extra.values[i + extra]);
  }
  thread.deep.summed = thread.deep.summed > dropped ? thread.deep.summed - dropped : 0;
  cache.cut = true;
  cache.count = static_cast<std::uint32_t>(left);
}

// Brings the sums up to the cache. A frame that was put in after the last time has a later stamp.
void sum_up(ThreadState& thread) noexcept {
  DeepStack& deep = thread.deep;
  const StackCache& cache = thread.cache;
  std::size_t known = deep.summed < cache.count ? deep.summed : cache.count;
  while (known > 0 && cache.stamps[known - 1] > deep.stamp) --known;
  std::uint64_t sum = known > 0 ? deep.sums[known - 1] : 0;
  for (; known < cache.count; ++known) {
    sum = sum * kBase + path_hash(kRootHash, cache.returns.values[known]);
    deep.sums[known] = sum;
  }
  deep.summed = cache.count;
  deep.stamp = cache.stamps_given;
}

} // namespace

std::size_t frames_to_unwind(const ThreadState& thread) noexcept {
  return has_room() && is_soon(thread) ? kept_when_full() : g_recorder.max_depth;
}

std::uint32_t number_too_deep(ThreadState& thread, std::size_t kept, std::size_t fresh, std::uint64_t root,
                              const Range& range) noexcept {
  StackCache& cache = thread.cache;
  DeepStack& deep = thread.deep;
  const bool takes_in = has_room() && is_soon(thread) && fresh <= kept_when_full() + 1;
  deep.last = thread.slot->reserved.load(std::memory_order_relaxed);
  if (!takes_in) return intern_too_deep(thread, kept, fresh);

  cache.count = static_cast<std::uint32_t>(kept);
  if (cache.count + fresh > most_kept()) {
    const std::size_t dropped = cache.count + fresh - kept_when_full();
    if (dropped < cache.count)
      drop_outermost(thread, dropped);
    else
      cache.count = 0, root = wire::kRootTooDeep;
  }
  add_frames(thread, 0, fresh, root, range);
  sum_up(thread);
  const std::size_t most = g_recorder.max_depth, count = cache.count;
  const std::uint64_t inside = deep.sums[count - 1] - deep.sums[count - 1 - most] * power(kBase, most);
  const std::uint64_t hash = path_hash(path_hash(too_deep_root_hash(), inside), inside >> 32);
  DeepStack::Known& known = deep.known[hash >> (64 - DeepStack::kKnownBits)];
  if (known.hash != hash || known.id == 0) {
    known.hash = hash;
    known.id = intern_too_deep(thread, count, 0);
  }
  return known.id;
}

} // namespace heaptape::recorder
