// The stacks of all threads at a snapshot, frame by frame, and which frame an address lies in. A thread is unwound when it is first asked
// for, and a frame named when its name is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "report/contents/thread_frames.h"

namespace heaptape {

// One thread at a time. Tape and memory must outlive it.
class SnapshotStacks {
public:
  SnapshotStacks(const TapeReader& tape, SnapshotMemory& memory);

  // By number in facts().threads. One that was not stopped has no frames.
  const ThreadFrames& frames_of(std::size_t thread);

  struct Place {
    std::size_t thread = 0; // number in facts().threads
    std::size_t frame = 0;  // number in its frames
  };
  // The frame that an address lies in.
  std::optional<Place> find(std::uint64_t address);
  // The same for one thread's frames: a number in them. The others need not be unwound.
  std::optional<std::size_t> find_in(std::size_t thread, std::uint64_t address);
  const StackFrame& frame_at(const Place& place) { return frames_of(place.thread).frames[place.frame]; }

  // What a frame's code stands for, innermost first; empty: not known. Valid as long as this object is.
  const SourcePlaces& places_of(const StackFrame& frame);
  // Names these at once, which is much cheaper than one by one.
  void name(std::span<const StackFrame> frames);
  // "Cache::insert cache.cpp:88", "libc.so.6+0x8a1f3"; of a function that was inlined that one.
  std::string text_of(const StackFrame& frame);

private:
  struct Range {
    std::uint64_t begin = 0, end = 0;
    std::size_t frame = 0;
  };
  void name_run_time_code(std::span<const std::uint64_t> addresses);

  const TapeReader& tape_;
  SnapshotMemory& memory_;
  ModuleTables tables_;
  std::vector<std::optional<ThreadFrames>> threads_;
  std::vector<std::optional<std::vector<Range>>> ranges_;  // of each thread, by begin
  std::size_t frames_ = 0;                                 // of all threads so far
  std::unordered_map<std::uint64_t, SourcePlaces> places_; // by code address
  std::optional<std::string> perf_map_, jit_dump_;         // when they were asked for
};

// "Cache::insert" for people, from what places_of() gives; "libc.so.6+0x8a1f3" when it is not known.
std::string function_text(const StackFrame& frame, const SourcePlace* place);
// "cache.cpp:88", "libc.so.6"; empty: the function's text says it all.
std::string location_text(const StackFrame& frame, const SourcePlace* place);

} // namespace heaptape
