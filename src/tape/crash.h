// What the program died of, as the dying thread knew it (wire/crash_record.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/ids.h"
#include "tape/contents.h"
#include "wire/crash_record.h"

namespace heaptape {

struct Crash {
  std::uint32_t signal = 0;
  std::int32_t code = 0;      // si_code
  std::uint32_t ended_by = 0; // the signal that ended the program; 0: the same
  bool was_handled = false;   // a handler of the program's own had the signal first
  std::uint64_t event = 0;    // the last one before it
  std::uint64_t time_us = 0;
  ThreadId thread{};
  StackId stack{};           // from the interrupted instruction outward
  std::uint64_t address = 0; // of a fault; of a signal that was sent the sender: process in the low half, user above
  std::array<std::uint64_t, wire::kAskerRegisters> registers{};
  std::uint64_t error = 0;  // of a page fault
  std::uint64_t trap = 0;   // number of the processor's exception
  std::uint64_t frames = 0; // of the whole stack; 0: not counted
  std::string bytes{};      // of the instruction and what follows it, at most wire::kCrashCodeBytes

  std::uint64_t operator[](wire::AskerRegister which) const { return registers[static_cast<std::size_t>(which)]; }
  std::uint32_t last_signal() const { return ended_by != 0 ? ended_by : signal; }
  friend bool operator==(const Crash&, const Crash&) = default;
};

// The first of them that the program can have died of, by what is known of its end; nullptr: none.
const Crash* deadly_crash(std::span<const Crash> crashes, const std::optional<Summary>& summary);

} // namespace heaptape
