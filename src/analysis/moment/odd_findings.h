// What the odd calls of a tape were: the recording knows that no block was live at an address, the events before it know why. Reads events
// only where there are such calls, and then those up to the last of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "tape/reader.h"

namespace heaptape {

// The order is the one in which reports list them.
enum class OddSort : std::uint8_t {
  ReleasedTwice, // the block had been released before
  InsideBlock,   // the address lies inside a block, and is not its first
  OnStack,       // it lies on a thread's stack
  InModule,      // it lies in the program or a library: a variable, a literal, code
  NotKnown,      // the events say nothing about it: made before the recording, or never
  Mismatch,      // the block was made by functions of another family
  WrongSize,     // the size that came with the release is not the block's
  Failed,        // there was no memory, or the call made no sense
};
inline constexpr std::size_t kOddSorts = 8;

// The program is at fault. (A failed call may be meant; a block may be older than the recording.)
constexpr bool is_fault(OddSort sort) { return sort != OddSort::Failed && sort != OddSort::NotKnown; }

struct OddFinding {
  OddCall call;
  OddSort sort = OddSort::NotKnown;
  std::uint64_t other =
      0; // ReleasedTwice: the event that released it first; InsideBlock, Mismatch, WrongSize: the one that made the block
  ThreadId stack_of{};            // OnStack
  const Module* module = nullptr; // InModule; the tape's
};

// In the order of the events. Of the calls with an address that was not live, no more than `most_looked_at` are looked into; the rest are
// NotKnown. The tape must outlive the result. `should_stop` is asked now and then; when it says so, calls not looked into are NotKnown.
std::vector<OddFinding> odd_findings(const TapeReader& tape, std::size_t most_looked_at = 1000,
                                     const std::function<bool()>& should_stop = {});

// Where an address lies that is not a block's: OnStack, InModule or NotKnown. `thread` is the one that used it.
OddFinding place_of_address(const TapeReader& tape, std::uint64_t address, ThreadId thread);

} // namespace heaptape
