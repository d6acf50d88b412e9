// The largest sources of a moment as a table: in use, ever allocated, blocks, and where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "analysis/heap/cost.h"
#include "live/live_heap.h"
#include "live/live_names.h"
#include "report/text/json_writer.h"
#include "report/text/text_style.h"

namespace heaptape {

// What a program has in use, all in all.
struct TopMoment {
  std::string program{}; // for people
  std::uint32_t pid = 0;
  std::uint64_t time_us = 0;
  Cost allocated{}, freed{};
  std::uint64_t peak_bytes = 0;
  bool ended = false;

  Cost live() const { return allocated - freed; }
};

struct TopTextOptions {
  bool largest_first = false;
  bool frames = false; // every stack in full
  TextStyle style{};
};

// `rows`: the largest first, as LiveHeap::largest() gives them; they are looked up here. Ends with a newline.
std::string top_moment_text(const TopMoment& moment, std::span<const StackTally> rows, LiveNames& names,
                            const TopTextOptions& options);
void write_top_moment_json(JsonWriter& json, const TopMoment& moment, std::span<const StackTally> rows,
                           LiveNames& names);

// "12.3 MB", at most eight columns.
std::string short_bytes(std::uint64_t bytes);

} // namespace heaptape
