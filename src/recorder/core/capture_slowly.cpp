#include "recorder/core/capture.h"
#include "recorder/core/full_unwind.h"
#include "recorder/core/recorder.h"
#include "wire/stack_roots.h"

namespace heaptape::recorder {

namespace {

// The registers as they are here; only those that a caller can depend on matter.
[[gnu::always_inline]] inline void read_registers(Walk& walk) noexcept {
  std::uint64_t* r = walk.registers;
  for (std::size_t i = 0; i < kRegisters; ++i) r[i] = 0;
  asm volatile("movq %%rbx, 24(%0)\n\t"
               "movq %%rbp, 48(%0)\n\t"
               "movq %%rsp, 56(%0)\n\t"
               "movq %%r12, 96(%0)\n\t"
               "movq %%r13, 104(%0)\n\t"
               "movq %%r14, 112(%0)\n\t"
               "movq %%r15, 120(%0)\n\t"
               "leaq 1f(%%rip), %1\n\t"
               "1:"
               : "+r"(r), "=&r"(walk.pc)
               :
               : "memory");
  walk.exact = true;
}

// Out of our own frames: the program's begin where the hook returns to. False: there is no way.
bool leave_own_frames(Walk& walk, WalkMemory& memory, const Frame& site) noexcept {
  WalkStep taken = WalkStep::Taken;
  for (int own = 0; own < 16 && taken == WalkStep::Taken && walk.registers[kRsp] != site.slot + 8; ++own)
    taken = full_step(walk, memory);
  return taken == WalkStep::Taken && walk.pc == site.pc;
}

} // namespace

bool any_frame(const Frame& site, bool (*is_wanted)(std::uint64_t pc)) noexcept {
  const StackMemory unknown{};
  WalkMemory memory{&unknown};
  Walk walk;
  read_registers(walk);
  if (!leave_own_frames(walk, memory, site)) return is_wanted(site.pc);
  for (std::size_t i = 0; i < kMostFrames; ++i) {
    if (is_wanted(walk.pc)) return true;
    if (full_step(walk, memory) != WalkStep::Taken) return false;
  }
  return false;
}

std::uint32_t capture_slowly(ThreadState& thread, const Frame& site) noexcept {
  const std::uint32_t level = thread.slow_captures;
  if (level >= 2) return 0; // a handler inside a handler inside a capture: recorded without a stack
  thread.slow_captures = level + 1;
  std::uint64_t* pcs = thread.slow_pcs[level];
  const std::size_t most = g_recorder.max_depth;

  (void)thread.stack.around(site.slot);
  WalkMemory memory{&thread.stack};
  Walk walk;
  read_registers(walk);
  std::uint64_t mark = wire::kRootCut;
  std::size_t count = 0;
  if (leave_own_frames(walk, memory, site)) {
    WalkStep taken = WalkStep::Taken;
    while (taken == WalkStep::Taken && count < most) {
      pcs[count++] = walk.pc;
      taken = full_step(walk, memory);
    }
    if (taken == WalkStep::Ended) mark = 0;
    if (taken == WalkStep::Taken) mark = wire::kRootTooDeep;
  } else {
    pcs[count++] = site.pc;
  }

  const std::uint32_t id = intern_pcs(pcs, count, mark, false);
  thread.slow_captures = level;
  return id;
}

} // namespace heaptape::recorder
