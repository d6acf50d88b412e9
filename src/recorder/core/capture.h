// Captures the call stack of the current thread as an interned number. The result always equals that of a full unwind.
#pragma once

#include <emmintrin.h>

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

// Whether words [0, count) all hold what they held. Reads them all whatever it finds, so all must be readable memory: one
// test at the end is cheaper than the chance to stop early. Two loads make a pair, one instruction compares it.
template <std::size_t N>
[[gnu::always_inline]] inline bool all_hold(const Words<N>& words, std::size_t count) noexcept {
  const auto pair_differs = [&words](std::size_t i) {
    __m128i now = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(words.addresses[i]));
    now =
        _mm_castpd_si128(_mm_loadh_pd(_mm_castsi128_pd(now), reinterpret_cast<const double*>(words.addresses[i + 1])));
    return _mm_xor_si128(now, *reinterpret_cast<const __m128i*>(&words.values[i]));
  };
  __m128i a = _mm_setzero_si128();
  __m128i b = _mm_setzero_si128();
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    a = _mm_or_si128(a, pair_differs(i));
    b = _mm_or_si128(b, pair_differs(i + 2));
    a = _mm_or_si128(a, pair_differs(i + 4));
    b = _mm_or_si128(b, pair_differs(i + 6));
  }
  if ((count & 4) != 0) {
    a = _mm_or_si128(a, pair_differs(i));
    b = _mm_or_si128(b, pair_differs(i + 2));
    i += 4;
  }
  if ((count & 2) != 0) {
    a = _mm_or_si128(a, pair_differs(i));
    i += 2;
  }
  std::uint64_t last = 0;
  if ((count & 1) != 0) last = *reinterpret_cast<const std::uint64_t*>(words.addresses[i]) ^ words.values[i];
  const __m128i same = _mm_cmpeq_epi8(_mm_or_si128(a, b), _mm_setzero_si128());
  return _mm_movemask_epi8(same) == 0xffff && last == 0;
}

// The innermost of words [0, count) that no longer holds its value, as index + 1; 0 when all hold.
template <std::size_t N>
inline std::size_t innermost_changed(const Words<N>& words, std::size_t count) noexcept {
  for (; count > 0; --count) {
    if (*reinterpret_cast<const std::uint64_t*>(words.addresses[count - 1]) != words.values[count - 1]) return count;
  }
  return 0;
}

// Whether frame `index` of the cache is the frame `site`: same address, same place, and the same RBP if the way outward
// depends on it.
inline bool is_frame(const StackCache& cache, std::size_t index, const Frame& site) noexcept {
  return cache.returns.addresses[index] == site.slot && cache.returns.values[index] == site.pc &&
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
    if (caller.id == known.caller_id && cache.returns.addresses[known.caller] == known.caller_slot &&
        (known.rbp_word == 0 || *reinterpret_cast<const std::uint64_t*>(known.rbp_word) == caller.rbp) &&
        all_hold(cache.returns, known.caller + 1) && (caller.extra_end == 0 || all_hold(cache.extra, caller.extra_end)))
        [[likely]] {
      return known.id;
    }
  }
  return capture_changed(thread, site.pc, site.slot, site.rbp);
}

} // namespace heaptape::recorder
