// The recorder's one global state: all zero means off, needs no constructor, survives exit().
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "recorder/core/intern.h"
#include "recorder/core/rules.h"
#include "recorder/core/switch.h"
#include "wire/layout.h"

namespace heaptape::recorder {

struct Recorder {
  std::uint8_t* memory = nullptr; // the shared memory
  wire::Header* header = nullptr;
  wire::Config config{}; // a copy: the one in the header can be written over
  std::uint64_t clock_base = 0;
  std::uint32_t max_depth = 0;
  bool free_stacks = false;
  bool clock_is_tsc = false;
  std::uint32_t main_tid = 0;
  std::uint32_t collector_tid = 0; // as it stood in the header's mutex at the start; 0: unknown
  std::uint64_t main_stack_top = 0;
  std::uint64_t stack_reach = 0;       // how large a stack may grow
  std::atomic<std::uint32_t> epoch{0}; // how often other code was loaded at an address used before
  std::atomic<std::uint32_t> code_epoch{
      0}; // how often generated code that stacks led through was unmapped or mapped over
  RuleTable rules;
  InternTable stacks;
};
static_assert(std::is_trivially_destructible_v<Recorder>);

extern constinit Recorder g_recorder;

// Pausing is counted: the last resume goes on. True: this call changed the state.
bool pause_recording() noexcept;
bool resume_recording() noexcept;
// What the switch is to say when recording begins.
std::uint32_t switch_position() noexcept;

inline void count_loss(wire::Loss loss) noexcept {
  g_recorder.header->losses[static_cast<std::size_t>(loss)].fetch_add(1, std::memory_order_relaxed);
}

// Takes over mapped shared memory whose header has been checked. Clock, interning and unwinding are ready afterwards; the
// switch is still off.
[[nodiscard]] bool start_recorder(std::uint8_t* memory, std::uint64_t main_stack_top,
                                  std::uint64_t stack_reach) noexcept;

// The clock where the TSC is not usable: CLOCK_MONOTONIC, or a mere counter after freeze_clock().
[[nodiscard]] std::uint64_t ticks_without_tsc() noexcept;

// The program is about to forbid the TSC to itself (strict seccomp does): from now on time stands still and only counts
// events, so that their order is kept.
void freeze_clock() noexcept;

// Stops recording for good and leaves the reason for the collector.
void stop_recorder(wire::OffReason reason) noexcept;

} // namespace heaptape::recorder
