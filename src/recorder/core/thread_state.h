// What the recorder knows about one thread: its ring, its stack, its last capture. Lives in the scratch part of the
// thread's slot in shared memory; a slot's next thread inherits it warm. All zero means new.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/core/call_site.h"
#include "recorder/core/readable.h"
#include "recorder/core/rules.h"
#include "wire/layout.h"

namespace heaptape::recorder {

inline constexpr std::size_t kMostFrames = wire::kDeepestStack;

// Stack words and what they held, in two arrays: compared two at a time.
template <std::size_t N>
struct Words {
  alignas(16) std::uint64_t addresses[N];
  alignas(16) std::uint64_t values[N];

  void set(std::size_t index, std::uint64_t address, std::uint64_t value) noexcept {
    addresses[index] = address;
    values[index] = value;
  }
};

// The last capture, outermost frame first. A later capture compares what this one read instead of unwinding again.
struct StackCache {
  struct Detail {
    std::uint64_t rbp;       // RBP in this frame
    std::uint64_t hash;      // path hash including this frame
    Rule rule;               // how its caller was found
    std::uint32_t id;        // interned stack whose innermost frame this is
    std::uint16_t extra_end; // extra words [0, extra_end) guard this frame and those outside it
    bool needs_rbp;          // the way outward from here depends on RBP
  };
  static_assert(sizeof(Detail) == 32);

  std::uint32_t count; // frames that are valid
  std::uint32_t root_mark;
  Words<kMostFrames> returns; // each frame's return slot and the address in it
  Detail details[kMostFrames];
  Words<2 * kMostFrames> extra; // saved RBPs and realigned CFAs that frames outside depend on
};

// A place from which the program called us before: an innermost frame and where in the cache its caller was. One cache line.
// As long as that caller is still in the cache and everything outside it is unchanged, so is the whole stack.
struct KnownSite {
  std::uint64_t pc;
  std::uint64_t slot;
  std::uint64_t rbp; // RBP at the site, if the way to the caller or outward from it depends on it
  std::uint64_t
      rbp_word; // where the site's function saved RBP, if the way outward from the caller depends on it; else 0
  std::uint64_t caller_slot; // the caller's return slot
  std::uint32_t caller;      // its index in the cache
  std::uint32_t caller_id;
  std::uint32_t id; // the whole stack's number
  std::uint32_t generation;
  std::uint32_t needs_rbp;
  std::uint32_t pad;
};
static_assert(sizeof(KnownSite) == 64);
inline constexpr std::size_t kKnownSites = 256;

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
  alignas(64) KnownSite sites[kKnownSites];
  StackCache cache;
  NewFrame fresh[kMostFrames + 1];
  std::uint64_t slow_pcs[2][kMostFrames]; // of slow captures, by how many of them are under way
};
static_assert(sizeof(ThreadState) <= wire::kScratchBytes);

} // namespace heaptape::recorder
