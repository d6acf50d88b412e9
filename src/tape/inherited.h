// What a process has from the one that forked it: blocks that were live in the parent at that moment. And the forks that a
// process made itself, so that such a moment can be found on its tape.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "wire/event_kind.h"

namespace heaptape {

// A fork that the recorded process made, as its own tape knows it.
struct ForkMade {
  std::uint64_t started_ns = 0; // CLOCK_MONOTONIC just before it; the child's META has it too, as started_monotonic_ns
  std::uint64_t event = 0;      // the last one before it
  std::uint64_t time_us = 0;
  friend bool operator==(const ForkMade&, const ForkMade&) = default;
};

// The whole of it, in figures. Live bytes and blocks of the child do not include them.
struct Inheritance {
  std::uint32_t parent_pid = 0;
  std::uint64_t parent_event = 0; // on the parent's tape: the last one before the fork
  std::uint64_t blocks = 0, bytes = 0;
  std::uint64_t released_blocks = 0, released_bytes = 0; // of them, by this process: freed or reallocated
  std::string parent_tape{};                             // the last part of its path
  std::uint64_t left_out = 0;                            // blocks that are not listed, the smallest
  friend bool operator==(const Inheritance&, const Inheritance&) = default;
};

struct InheritedBlock {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  StackId stack{}; // that made it, in the parent
  EventKind kind = EventKind::None;
  std::uint64_t age_us = 0; // at the fork
  friend bool operator==(const InheritedBlock&, const InheritedBlock&) = default;
};

} // namespace heaptape
