// Captures the call stack of the current thread as an interned number. The result always equals that of a full unwind.
#pragma once

#include <cstdint>

#include "recorder/core/call_site.h"
#include "recorder/core/thread_state.h"

namespace heaptape::recorder {

// The general way; capture() below is the short cut for a site that was seen before on an unchanged stack. Takes the site
// apart, so that it stays in registers.
[[gnu::noinline]] std::uint32_t capture_changed(ThreadState& thread, std::uint64_t pc, std::uint64_t slot,
                                               std::uint64_t rbp) noexcept;

// Unwinds everything anew with the full interpreter and leaves the cache alone: for stacks with signal frames, and for
// hooks that interrupted a capture.
[[gnu::noinline]] std::uint32_t capture_slowly(ThreadState& thread, const Frame& site) noexcept;

// Counts up when code went away; caches of older generations are void.
extern std::atomic<std::uint32_t> g_code_generation;

// The outermost of words [0, count) that no longer holds its value, as index + 1 counted from the innermost found first;
// 0 when all hold. Reads eight at a time, so all of them must be readable memory.
[[gnu::always_inline]] inline std::size_t first_changed(const Word* words, std::size_t count) noexcept {
  const auto differs = [words](std::size_t i) {
    return *reinterpret_cast<const std::uint64_t*>(words[i].address) ^ words[i].value;
  };
  std::size_t k = count;
  for (; k >= 8; k -= 8) {
    std::uint64_t a = differs(k - 1);
    std::uint64_t b = differs(k - 2);
    a |= differs(k - 3);
    b |= differs(k - 4);
    a |= differs(k - 5);
    b |= differs(k - 6);
    a |= differs(k - 7);
    b |= differs(k - 8);
    if ((a | b) != 0) [[unlikely]] break;
  }
  for (; k > 0; --k) {
    if (differs(k - 1) != 0) [[unlikely]] return k;
  }
  return 0;
}

// Whether frame `index` of the cache is the frame `site`: same address, same place, and the same RBP if the way outward
// depends on it.
inline bool is_frame(const StackCache& cache, std::size_t index, const Frame& site) noexcept {
  return cache.returns[index].address == site.slot && cache.returns[index].value == site.pc &&
         (!cache.details[index].needs_rbp || cache.details[index].rbp == site.rbp);
}

inline KnownSite& known_site(ThreadState& thread, std::uint64_t pc, std::uint64_t slot) noexcept {
  const std::uint64_t mixed = (pc ^ (slot << 7)) * 0x9e37'79b9'7f4a'7c15u;
  return thread.sites[mixed >> (64 - 8)];
}
static_assert(kKnownSites == 1 << 8);

// Inlined into every hook: a function call with this many live values costs more than the code.
[[gnu::always_inline]] inline std::uint32_t capture(ThreadState& thread, const Frame& site) noexcept {
  const StackCache& cache = thread.cache;
  const KnownSite& known = known_site(thread, site.pc, site.slot);
  if (known.pc == site.pc && known.slot == site.slot && known.caller < cache.count &&
      known.generation == g_code_generation.load(std::memory_order_relaxed) &&
      (known.needs_rbp == 0 || known.rbp == site.rbp)) [[likely]] {
    const StackCache::Detail& caller = cache.details[known.caller];
    // The caller's frame is the one it was (same stack, same place), the way to its RBP leads to the same value, and every
    // word a full unwind would read holds what it held.
    if (caller.id == known.caller_id && cache.returns[known.caller].address == known.caller_slot &&
        (known.rbp_word == 0 || *reinterpret_cast<const std::uint64_t*>(known.rbp_word) == caller.rbp) &&
        first_changed(cache.returns, known.caller + 1) == 0 && first_changed(cache.extra, caller.extra_end) == 0) [[likely]] {
      return known.id;
    }
  }
  return capture_changed(thread, site.pc, site.slot, site.rbp);
}

} // namespace heaptape::recorder
