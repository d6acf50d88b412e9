// One event as text for people or as a JSON object.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "report/names/frame_texts.h"
#include "tape/event.h"
#include "tape/reader.h"

namespace heaptape {

// The largest values to be printed, so that the columns of all events line up.
struct ColumnWidths {
  unsigned number = 6;
  unsigned time = 8;
  unsigned thread = 5; // without the T

  static ColumnWidths of(const TapeReader& tape);
  static ColumnWidths of(std::uint64_t last_number, std::uint64_t last_us, std::uint32_t last_thread);
};

// The titles of the columns, as a line that begins with '#'.
void append_titles(fmt::memory_buffer& out, const ColumnWidths& widths);

// One line: number, time in seconds, thread, kind, address, size, what it replaces, which of the pools it is in.
void append_event(fmt::memory_buffer& out, const Event& event, const ColumnWidths& widths,
                  const std::vector<Pool>& pools = {});

// A line in the same columns for what the program said about itself: marks, texts, numbers.
void append_mark(fmt::memory_buffer& out, const Mark& mark, const ColumnWidths& widths);
// The same for a call that is no event: it failed, or never returned.
void append_odd_call(fmt::memory_buffer& out, const OddCall& call, const ColumnWidths& widths);
void append_odd_call_json(fmt::memory_buffer& out, const OddCall& call);
// The same for what the checks in the program found.
void append_memory_error(fmt::memory_buffer& out, const MemoryError& error, const ColumnWidths& widths);
void append_memory_error_json(fmt::memory_buffer& out, const MemoryError& error);
void append_mark_json(fmt::memory_buffer& out, const Mark& mark);

// The frames of its stack, innermost first, one indented line each; nothing when it has no stack.
void append_stack(fmt::memory_buffer& out, const Event& event, FrameTexts& frames);

// One line with everything there is. `tid` is the kernel's number of the event's thread. `frames` are in FrameForm::Json; without them there are none.
void append_event_json(fmt::memory_buffer& out, const Event& event, std::uint32_t tid, FrameTexts* frames,
                       const std::vector<Pool>& pools = {});

} // namespace heaptape
