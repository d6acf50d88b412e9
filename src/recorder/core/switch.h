// Whether this process is being recorded.
#pragma once

#include <atomic>
#include <cstdint>

namespace heaptape::recorder {

// What the switch says.
inline constexpr std::uint32_t kOff = 0;
inline constexpr std::uint32_t kOn = 1;
inline constexpr std::uint32_t kPaused =
    2; // only enough is recorded to tell blocks from before from those made meanwhile

// "Are we recording?", alone on a page that the kernel zeroes in the child of every fork, also of a raw clone: a child that
// nobody prepared reads "no" and cannot touch its parent's tape.
struct alignas(4096) Switch {
  std::atomic<std::uint32_t> on;
  std::atomic<std::uint32_t> attached; // there is a tape, whether or not heap events go onto it
};
extern constinit Switch g_switch;

inline bool is_recording() noexcept { return g_switch.on.load(std::memory_order_relaxed) != kOff; }
// The same, but not while the program has paused the recording of blocks.
inline bool takes_blocks() noexcept { return g_switch.on.load(std::memory_order_relaxed) == kOn; }

// Whether there is a tape to write on: for everything but heap events.
inline bool is_attached() noexcept { return g_switch.attached.load(std::memory_order_relaxed) != 0; }

} // namespace heaptape::recorder
