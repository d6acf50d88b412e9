// heaptape top on a program that runs: full screen, or plain tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "collector/options/live_options.h"
#include "live/top_screen.h"
#include "report/text/text_style.h"

namespace heaptape::cli {

struct LiveTop {
  std::string tape;
  // Plain tables instead of the full screen.
  bool plain = false;
  std::uint64_t every_us = 2'000'000;
  std::uint64_t count = 0; // tables, then it ends; 0: until the program does
  std::size_t rows = 10;
  bool largest_first = false;
  bool frames = false;
  bool json = false;
  std::string output{};            // empty: standard output
  TopOrder order = TopOrder::Live; // of the full screen
  TableSort table_sort = TableSort::Live;
  TextStyle style{};
};

// Returns the exit status. The full screen ends when the user leaves; plain tables when there are enough, or with the
// recording.
int run_live_top(const LiveTop& options);
// The same full screen beside `record --top`: ends with the recording, too.
int run_top_beside(const LiveTop& options);

} // namespace heaptape::cli
