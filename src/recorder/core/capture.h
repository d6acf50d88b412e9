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

// What two stack words hold now, against what they held: no bit is set if it is the same. Two loads make a pair, one
// instruction compares it.
[[gnu::always_inline]] inline __m128i pair_differs(std::uint64_t first, std::uint64_t second, __m128i values) noexcept {
  __m128i now = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(first));
  now = _mm_castpd_si128(_mm_loadh_pd(_mm_castsi128_pd(now), reinterpret_cast<const double*>(second)));
  return _mm_xor_si128(now, values);
}

[[gnu::always_inline]] inline bool is_zero(__m128i bits) noexcept {
  return _mm_movemask_epi8(_mm_cmpeq_epi8(bits, _mm_setzero_si128())) == 0xffff;
}

// Whether words [0, count), and those of the root, all hold what they held. Reads them all whatever it finds, so all must be readable memory: one
// test at the end is cheaper than the chance to stop early.
template <class Words>
[[gnu::always_inline]] inline bool all_hold(const Words& words, std::size_t count) noexcept {
  __m128i differs[2] = {_mm_setzero_si128(), _mm_setzero_si128()}; // two, so that the processor need not wait
  const auto round = [&differs](const std::uint64_t* address, const std::uint64_t* value, auto&& values) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < Words::kRound; i += 2) {
      __m128i& half = differs[i / 2 % 2];
      half = _mm_or_si128(half, pair_differs(address[i], address[i + 1], values(value + i)));
    }
  };
  // Whole rounds, aligned; then the last one, which begins where it must.
  const std::uint64_t* address = words.addresses - Words::kRoot;
  const std::uint64_t* value = words.values - Words::kRoot;
  const std::uint64_t* const last = words.addresses + count - Words::kRound;
  for (; address <= last; address += Words::kRound, value += Words::kRound) {
    round(address, value, [](const std::uint64_t* at) { return *reinterpret_cast<const __m128i*>(at); });
  }
  round(last, words.values + count - Words::kRound,
        [](const std::uint64_t* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); });
  return is_zero(_mm_or_si128(differs[0], differs[1]));
}

// Whether every word of a path holds what it held.
[[gnu::always_inline]] inline bool holds(const KnownPath& path) noexcept {
  const auto pair = [&path](std::size_t i) {
    return pair_differs(path.slot + path.offsets[i], path.slot + path.offsets[i + 1],
                        *reinterpret_cast<const __m128i*>(path.values + i));
  };
  __m128i differs = _mm_or_si128(pair(0), pair(2));
  if (path.words > kFewWords) {
    differs = _mm_or_si128(differs, _mm_or_si128(pair(4), pair(6)));
    differs = _mm_or_si128(differs, _mm_or_si128(pair(8), pair(10)));
    differs = _mm_or_si128(differs, _mm_or_si128(pair(12), pair(14)));
  }
  return is_zero(differs);
}

// The innermost of words [0, count) that no longer holds its value, as index + 1; 0 when all hold.
template <class Words>
inline std::size_t innermost_changed(const Words& words, std::size_t count) noexcept {
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

// Inlined into every hook: a function call with this many live values costs more than the code.
[[gnu::always_inline]] inline std::uint32_t capture(ThreadState& thread, const Frame& site) noexcept {
  const StackCache& cache = thread.cache;
  const KnownPath* path = thread.known.find(site.pc, site.slot);
  if (path != nullptr && path->join < cache.count) [[likely]] {
    // A guess that is checked by a branch, and kept apart by the empty assembly: the processor compares the stack while the
    // path is still on its way.
    std::size_t join = thread.last_join;
    if (join == path->join) {
      asm volatile("" : "+r"(join));
    } else {
      join = path->join;
      thread.last_join = path->join;
    }
    // The path is the call's, and its join is still what it was.
    const std::uint64_t differs = (path->pc ^ site.pc) | (path->slot ^ site.slot) |
                                  (path->generation ^ g_code_generation.load(std::memory_order_relaxed)) |
                                  (path->join_stamp ^ cache.stamps[join]);
    const std::size_t extra = cache.details[join].extra_end;
    // And every word that a full unwind would read holds what it held.
    if (differs == 0 && (path->needs_rbp == 0 || path->rbp == site.rbp) && (path->words == 0 || holds(*path)) &&
        all_hold(cache.returns, join + 1) && (extra == 0 || all_hold(cache.extra, extra))) [[likely]] {
      return path->id;
    }
  }
  return capture_changed(thread, site.pc, site.slot, site.rbp);
}

} // namespace heaptape::recorder
