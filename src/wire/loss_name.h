// Losses as the user and the tape name them.
#pragma once

#include "wire/layout.h"

namespace heaptape::wire {

// Short, stable, lower case: the key in Summary::losses.
constexpr const char* loss_name(Loss loss) {
  switch (loss) {
  case Loss::RingFull: return "ring full";
  case Loss::NoThreadSlot: return "no thread slot";
  case Loss::StackTableFull: return "stack table full";
  case Loss::ModuleLogFull: return "module log full";
  case Loss::StackTooDeep: return "stack too deep";
  case Loss::StackCut: return "stack cut";
  case Loss::BeforeStart: return "before start";
  case Loss::AfterCollector: return "after collector";
  case Loss::AbandonedHook: return "abandoned hook";
  case Loss::CpuSamples: return "CPU samples";
  case Loss::CpuThreads: return "CPU threads";
  case Loss::NotFollowed: return "not followed";
  case Loss::Count: break;
  }
  return "?";
}

// Losses that show only in the collector.
inline constexpr const char* kLossUnfinished = "unfinished record"; // the program died while writing it
inline constexpr const char* kLossDamaged = "damaged record";       // makes no sense
inline constexpr const char* kLossStuck = "stuck thread";     // rounds that went on without a thread inside a hook
inline constexpr const char* kLossNotWritten = "not written"; // events that the tape did not take any more
// The program wrote over the shared memory, and with it over the counts of losses. Stands for all those above it.
inline constexpr const char* kLossUnknown = "memory written over";

// Beside these in Summary::losses: blocks made while the program had paused the recording. Not lost but unwanted.
inline constexpr const char* kPausedName = "paused";

} // namespace heaptape::wire
