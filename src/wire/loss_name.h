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

// Beside these in Summary::losses: blocks made while the program had paused the recording. Not lost but unwanted.
inline constexpr const char* kPausedName = "paused";

// Losses that mean missing events; the others mean events with less detail.
constexpr bool loses_events(Loss loss) {
  switch (loss) {
  case Loss::RingFull:
  case Loss::NoThreadSlot:
  case Loss::BeforeStart:
  case Loss::AfterCollector:
  case Loss::AbandonedHook: return true;
  default: return false;
  }
}

} // namespace heaptape::wire
