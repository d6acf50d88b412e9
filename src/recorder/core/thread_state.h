// What the recorder knows about one thread: its ring, its stack, its last capture. Lives in the scratch of the
// thread's slot, in shared memory that the collector does not map; a slot's next thread inherits it warm. All zero means new.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/core/call_site.h"
#include "recorder/core/known_paths.h"
#include "recorder/core/readable.h"
#include "recorder/core/rules.h"
#include "wire/layout.h"

namespace heaptape::recorder {

inline constexpr std::size_t kMostFrames = wire::kDeepestStack;
inline constexpr std::size_t kThreadNameBytes = 16; // the kernel's, with its NUL

// Stack words and what they held, in two arrays: compared two at a time, Round at a go. In front of the first one there are
// some that always hold, so that a round need not care where the words begin; the last Root of them are compared always.
template <std::size_t N, std::size_t Round, std::size_t Root>
struct Words {
  static constexpr std::size_t kRound = Round, kRoot = Root;
  alignas(64) std::uint64_t front_addresses[Round];
  std::uint64_t addresses[N];
  alignas(64) std::uint64_t front_values[Round];
  std::uint64_t values[N];

  void start() noexcept {
    for (std::size_t i = 1; i <= Round; ++i) always_holds(i);
  }
  void set(std::size_t index, std::uint64_t address, std::uint64_t value) noexcept {
    addresses[index] = address;
    values[index] = value;
  }
  // The same for the index-th word in front, counted from 1, the nearest.
  void set_front(std::size_t index, std::uint64_t address, std::uint64_t value) noexcept {
    front_addresses[Round - index] = address;
    front_values[Round - index] = value;
  }
  void always_holds(std::size_t index) noexcept {
    set_front(index, reinterpret_cast<std::uint64_t>(&front_values[Round - index]), 0);
  }
};

// The last capture, outermost frame first. A later capture compares what this one read instead of unwinding again.
struct StackCache {
  struct Detail {
    std::uint64_t rbp;       // RBP in this frame
    std::uint64_t hash;      // path hash including this frame
    Rule rule;               // how its caller was found
    std::uint32_t id;        // interned stack whose innermost frame this is; 0: not asked for yet
    std::uint16_t extra_end; // extra words [0, extra_end) guard this frame and those outside it
    bool needs_rbp;          // the way outward from here depends on RBP
  };
  static_assert(sizeof(Detail) == 32);

  std::uint32_t count;        // frames that are valid
  bool cut;                   // the outermost of them has callers: see too_deep.h
  std::uint64_t stamps_given; // frames ever put in
  // Each frame's return slot and the address in it; in front, the words that show why the outermost is outermost.
  Words<kMostFrames, 8, 2> returns;
  Detail details[kMostFrames];
  std::uint64_t
      stamps[kMostFrames]; // a frame that was put in later, or another one in the same place, has another stamp
  Words<2 * kMostFrames, 2, 0> extra; // saved RBPs and realigned CFAs that frames outside depend on

  void start() noexcept {
    count = 0;
    returns.start();
    extra.start();
  }
};

// What too_deep.h keeps beside the cache.
struct DeepStack {
  static constexpr unsigned kKnownBits = 6;
  struct Known {
    std::uint64_t hash; // of the frames that count, and of what they hang on
    std::uint32_t id;   // 0: none
  };
  std::uint64_t last;              // the thread's record at the last stack that was too deep
  std::size_t summed;              // frames of the cache that had sums then
  std::uint64_t stamp;             // and the last stamp given
  std::uint64_t sums[kMostFrames]; // over the frames from the first to this one
  Known known[std::size_t{1} << kKnownBits];
};

// A frame on its way into the cache.
struct NewFrame {
  std::uint64_t pc;
  std::uint64_t slot;
  std::uint64_t rbp;
  Rule rule;
};

struct alignas(64) ThreadState {
  wire::ThreadSlot* slot;
  wire::Record* ring;
  std::uint64_t ring_mask;  // records in the ring less one
  unsigned ring_shift;      // log2 of the records in the ring
  std::uint32_t generation; // of the code map, when the cache was filled
  std::uint64_t limit;      // reserving at or past this position needs a look at how far the collector is
  std::uint64_t entry_slot; // the stack slot of the hook that is busy, to tell an abandoned one
  StackMemory stack;
  std::uint32_t slow_captures; // under way: more than one when a signal handler interrupted one
  std::uint32_t tid;
  char name[kThreadNameBytes]; // the last that was put into the ring
  std::uint32_t last_join;
  KnownPaths known;
  Habit habit;
  StackCache cache;
  DeepStack deep;
  NewFrame fresh[kMostFrames + 1];
  std::uint64_t slow_pcs[2][kMostFrames]; // of slow captures, by how many of them are under way
  std::uint64_t sample_pcs[kMostFrames];  // of a sample of the CPU profile, which nothing interrupts
  std::int32_t cpu_timer;                 // the kernel's number of the thread's timer for these, plus one; 0: none
};
static_assert(sizeof(ThreadState) <= wire::kScratchBytes);

} // namespace heaptape::recorder
