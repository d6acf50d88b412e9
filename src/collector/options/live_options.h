// What is to be done while the program runs, besides the tape. Filled in by the command line or from HEAPTAPE_*
// variables:
//
//   HEAPTAPE_LOG           1, or the log's name (--log)          HEAPTAPE_LOG_MAX        size of one file (--log-max)
//   HEAPTAPE_LOG_CHURN     bytes (--log-churn)                   HEAPTAPE_LOG_KEEP       older files (--log-keep)
//   HEAPTAPE_LOG_EVERY     time, e.g. 10s (--log-every)          HEAPTAPE_MAX_LIVE       bytes (--max-live)
//   HEAPTAPE_LOG_SIGNAL    USR1, ... (--log-signal)              HEAPTAPE_MAX_LIVE_REPORT 1 (--max-live-report)
//   HEAPTAPE_LOG_ALL       1: all sources (--log-all)            HEAPTAPE_TOP_EVERY      time (--top-every)
//   HEAPTAPE_TOP_FILE      where to instead of stderr            HEAPTAPE_TOP_ROWS       rows (--top-rows)
//   HEAPTAPE_TOP_FIRST     1: the largest first (--top-first)    HEAPTAPE_TOP_SORT       allocated, ... (--top-sort)
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace heaptape {

// What the rows of a table of a running program are sorted by: bytes in use, bytes ever allocated, blocks in use.
enum class TableSort : std::uint8_t { Live, Allocated, Blocks };

struct LiveOptions {
  bool log = false;
  // %p pid, %n program name, %t start time, %% a percent sign. A file of this name is moved out of the way first.
  std::string log_name = "heaptape.%n.%p.log";
  bool log_named = false;                           // by the user
  std::uint64_t log_churn = std::uint64_t{1} << 20; // bytes allocated and freed between two snapshots; 0: not for that
  std::uint64_t log_every_us = 0;                   // 0: not for time
  int log_signal = 0;                               // sent to the collector; 0: none
  bool log_all = false;                             // all sources, not only those that changed
  std::uint64_t log_max_bytes = 0;                  // then a new file is begun; 0: one file
  std::uint32_t log_keep = 5;                       // older files that stay: LOG.1, LOG.2, ...

  std::uint64_t max_live_bytes = 0; // 0: no limit
  bool max_live_report = false;     // report it once, and let the program run on

  std::uint64_t top_every_us = 0; // a table of the largest; 0: none
  std::string top_file{};         // empty: stderr
  std::uint32_t top_rows = 10;
  bool top_first = false; // the largest first
  TableSort top_sort = TableSort::Live;

  bool wanted() const { return log || max_live_bytes != 0 || top_every_us != 0; }
};

// "10s", "500ms", "2min"; a plain number is seconds.
Result<std::uint64_t> parse_interval_us(const std::string& text);
// "USR1", "SIGUSR2", "HUP" or a number; one that the collector can spare.
Result<int> parse_log_signal(const std::string& text);
// How many, from `least` to a million.
Result<std::uint32_t> parse_count(const std::string& text, std::uint32_t least);

// "live", "allocated" or "blocks"; also "total" and "count".
Result<TableSort> parse_table_sort(const std::string& text);

// Reads the variables above; `lookup(name)` gives one. `directory`: where a log goes that is not named with a whole
// path; may be empty.
using Lookup = std::function<std::optional<std::string>(std::string_view name)>;
Result<LiveOptions> live_options_from(const Lookup& lookup, const std::string& directory);
// And back: NAME=VALUE for all that is not the default. `directory` is put in front of names that need it; % is doubled
// in it already.
std::vector<std::string> live_variables(const LiveOptions& options, const std::string& directory);

} // namespace heaptape
