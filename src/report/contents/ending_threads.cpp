#include "report/contents/ending_threads.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "report/contents/module_tables.h"
#include "report/contents/thread_frames.h"

namespace heaptape {

namespace {

constexpr std::size_t kMostFrames = 8; // from the recorder's own to exit()

bool ends_program(std::string_view function) {
  for (const std::string_view prefix : {"__GI_", "__new_"})
    if (function.starts_with(prefix)) function.remove_prefix(prefix.size());
  return function == "exit" || function == "quick_exit";
}

// How many frames lie below the call of exit(); 0: the thread is not in it, or runs code of others there.
std::size_t frames_of_exit(const ThreadFrames& stack, ModuleTables& tables) {
  std::vector<std::uint64_t> addresses;
  for (const StackFrame& frame : stack.frames) {
    if (addresses.size() == kMostFrames || frame.module == nullptr || frame.module != stack.frames[0].module) break;
    addresses.push_back(frame.code_address());
  }
  if (addresses.empty()) return 0;
  const std::vector<SourcePlaces> places = tables.places(*stack.frames[0].module, addresses);
  for (std::size_t i = places.size(); i-- > 0;)
    if (std::ranges::any_of(places[i], [](const SourcePlace& place) { return ends_program(place.function); }))
      return i + 1;
  return 0;
}

} // namespace

std::vector<ThreadState> threads_in_own_code(const TapeReader& tape, SnapshotMemory& memory) {
  std::vector<ThreadState> threads = memory.facts().threads;
  if (memory.facts().name != "exit") return threads;
  ModuleTables tables(tape, memory);
  for (ThreadState& thread : threads) {
    const bool in_system_call = static_cast<std::int64_t>(thread[ThreadState::OrigRax]) >= 0;
    if (!thread.stopped || in_system_call) continue;
    const std::size_t frames = frames_of_exit(unwind_thread(thread, memory, tables), tables);
    if (frames == 0) continue;
    if (std::optional<ThreadState> caller = without_frames(thread, frames, memory, tables)) thread = *std::move(caller);
  }
  return threads;
}

} // namespace heaptape
