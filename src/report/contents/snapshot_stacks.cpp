#include "report/contents/snapshot_stacks.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/number_text.h"
#include "base/path_text.h"
#include "report/names/run_time_names.h"
#include "symbols/demangle.h"

namespace heaptape {

namespace {

constexpr std::size_t kMostFrames = std::size_t{1} << 22; // of all threads together
constexpr std::uint64_t kRedZone = 128; // below the stack pointer, for the use of the function that runs

} // namespace

SnapshotStacks::SnapshotStacks(const TapeReader& tape, SnapshotMemory& memory)
    : tape_(tape), memory_(memory), tables_(tape, memory), threads_(memory.facts().threads.size()),
      ranges_(memory.facts().threads.size()) {}

const ThreadFrames& SnapshotStacks::frames_of(std::size_t thread) {
  std::optional<ThreadFrames>& known = threads_[thread];
  if (known) return *known;
  const ThreadState& state = memory_.facts().threads[thread];
  if (!state.stopped)
    known = ThreadFrames{.end = FramesEnd::Cut, .why = "the thread did not stop"};
  else if (frames_ >= kMostFrames)
    known = ThreadFrames{.end = FramesEnd::TooDeep};
  else
    known = unwind_thread(state, memory_, tables_);
  frames_ += known->frames.size();
  return *known;
}

std::optional<SnapshotStacks::Place> SnapshotStacks::find(std::uint64_t address) {
  for (std::size_t thread = 0; thread < threads_.size(); ++thread)
    if (const auto frame = find_in(thread, address)) return Place{thread, *frame};
  return std::nullopt;
}

std::optional<std::size_t> SnapshotStacks::find_in(std::size_t thread, std::uint64_t address) {
  std::optional<std::vector<Range>>& ranges = ranges_[thread];
  if (!ranges) {
    ranges.emplace();
    const std::vector<StackFrame>& frames = frames_of(thread).frames;
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const std::uint64_t below = i == 0 ? std::min(kRedZone, frames[i].begin) : 0;
      if (frames[i].begin < frames[i].end) ranges->push_back({frames[i].begin - below, frames[i].end, i});
    }
    std::ranges::stable_sort(*ranges, {}, &Range::begin);
  }
  const auto after = std::ranges::upper_bound(*ranges, address, {}, &Range::begin);
  if (after == ranges->begin() || address >= std::prev(after)->end) return std::nullopt;
  return std::prev(after)->frame;
}

void SnapshotStacks::name(std::span<const StackFrame> frames) {
  std::map<const Module*, std::vector<std::uint64_t>> wanted;
  for (const StackFrame& frame : frames) {
    const std::uint64_t address = frame.code_address();
    if (places_.try_emplace(address).second) wanted[frame.module].push_back(address);
  }
  for (const auto& [module, addresses] : wanted) {
    if (module == nullptr) {
      name_run_time_code(addresses);
      continue;
    }
    std::vector<SourcePlaces> found = tables_.places(*module, addresses);
    for (std::size_t i = 0; i < addresses.size(); ++i) places_[addresses[i]] = std::move(found[i]);
  }
}

void SnapshotStacks::name_run_time_code(std::span<const std::uint64_t> addresses) {
  if (!perf_map_) {
    RunTimeText text = find_run_time_text(tape_);
    perf_map_ = std::move(text.perf_map);
    jit_dump_ = std::move(text.jit_dump);
  }
  const auto named = find_run_time_places({.perf_map = *perf_map_, .jit_dump = *jit_dump_},
                                          std::vector<std::uint64_t>(addresses.begin(), addresses.end()));
  for (const std::uint64_t address : addresses) {
    if (const auto found = named.find(address); found != named.end()) {
      places_[address] = {{found->second.code.function, found->second.code.file, found->second.line}};
      continue;
    }
    const std::uint64_t now = memory_.facts().time_us;
    for (const RunTimeCode& code : tape_.symbols().run_time_code()) {
      if (address < code.start || address - code.start >= code.size) continue;
      if (code.from_us <= now && (code.to_us == 0 || now < code.to_us)) places_[address] = {{code.function, code.file}};
    }
  }
}

const SourcePlaces& SnapshotStacks::places_of(const StackFrame& frame) {
  name(std::span(&frame, 1));
  return places_[frame.code_address()];
}

std::string SnapshotStacks::text_of(const StackFrame& frame) {
  if (frame.signal_handler) return "the call of a signal's handler";
  const SourcePlaces& places = places_of(frame);
  const SourcePlace* const place = places.empty() ? nullptr : &places.front();
  const std::string location = location_text(frame, place);
  return function_text(frame, place) + (location.empty() ? "" : " " + location);
}

std::string function_text(const StackFrame& frame, const SourcePlace* place) {
  if (place != nullptr && !place->function.empty()) return printable(demangle(place->function, NameForm::Short));
  if (frame.module == nullptr) return fmt::format("?+{:#x}", frame.pc);
  return fmt::format("{}+{:#x}", printable(base_name(frame.module->path)), frame.pc - frame.module->load_bias);
}

std::string location_text(const StackFrame& frame, const SourcePlace* place) {
  if (place != nullptr && !place->file.empty()) {
    const std::string file = printable(base_name(place->file));
    return place->line != 0 ? fmt::format("{}:{}", file, place->line) : file;
  }
  if (place == nullptr || place->function.empty()) return "";
  return frame.module != nullptr ? printable(base_name(frame.module->path)) : "[jit]";
}

} // namespace heaptape
