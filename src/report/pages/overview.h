// The first page of a report: what happened, what is known of it, and where to look.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/figures/costs.h"
#include "report/figures/pools.h"
#include "report/leaks/leak_report.h"
#include "report/pages/memory_page.h"
#include "report/pages/odd_calls.h"
#include "report/pages/overview_sections.h"
#include "report/text/json_writer.h"
#include "report/text/text_style.h"
#include "report/view/tape_view.h"

namespace heaptape {

struct Overview {
  std::string command;     // as one could type it
  std::string ending;      // how the program ended; empty: well, and there is nothing to say about it
  bool is_running = false; // what is on the tape goes up to now
  MemoryPage memory{};
  Cost short_lived{}; // freed within a millisecond
  Cost temporary{};
  std::uint64_t lost_events = 0; // by all reasons together
  std::uint64_t cut_stacks = 0;
  std::vector<std::string> not_seen{}; // sentences on what the tape does not show
  std::vector<OddLine> odd{};          // calls that went wrong
  std::vector<OverviewSection> sections{};
  std::optional<LeakReport> leaks{}; // with a snapshot of the memory at the end
  std::vector<PoolLine> pools{};     // at the end
};

Overview make_overview(const TapeView& view, const OverviewRequest& request);

std::string overview_text(const TapeView& view, const Overview& overview, const TextStyle& style);
// The fields of an object that is open.
void write_overview_json(JsonWriter& json, const TapeView& view, const Overview& overview);

// A sentence when a good part of the places seen so far has no name, and where most of these are; else empty.
std::string nameless_sentence(const StackNames& names);

} // namespace heaptape
