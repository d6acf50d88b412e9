#include "recorder/check/program_site.h"

#include <atomic>
#include <cstdint>

#include "recorder/core/cfi.h"

namespace heaptape::recorder {

Frame program_site() noexcept {
  constexpr int kMostFrames = 16;
  static constinit std::atomic<std::uint64_t> s_begin{0}, s_end{0};
  if (s_end.load(std::memory_order_acquire) == 0) { // pairs with the store below
    const CodeObject own = find_object(reinterpret_cast<std::uint64_t>(&program_site));
    s_begin.store(own.start, std::memory_order_relaxed);
    s_end.store(own.end, std::memory_order_release);
  }
  const auto* frame = static_cast<const std::uint64_t*>(__builtin_frame_address(0));
  for (int i = 0; i < kMostFrames; ++i) {
    if (frame[1] < s_begin.load(std::memory_order_relaxed) || frame[1] >= s_end.load(std::memory_order_relaxed)) break;
    const auto* const outer = reinterpret_cast<const std::uint64_t*>(frame[0]);
    if (outer <= frame) break;
    frame = outer;
  }
  return {frame[1], reinterpret_cast<std::uint64_t>(frame + 1), frame[0]};
}

} // namespace heaptape::recorder
