// Memory of the process on the first page: what was resident when most was, and the moment at which heap and own mappings together were
// largest. docs/definitions.md says what each line means.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/space/memory_ledger.h"
#include "report/figures/costs.h"
#include "report/figures/worst.h"
#include "report/select/frame_filter.h"
#include "report/select/runtime_pools.h"
#include "report/text/json_writer.h"
#include "report/text/text_style.h"
#include "report/view/tape_view.h"

namespace heaptape {

struct MemoryPage {
  std::optional<MemoryLedger> ledger{}; // nullopt: the kernel was never asked
  Worst heap{}, mappings{};             // of the ledger, by function
  std::vector<RuntimePool> runtime{};   // what of the ledger's heap runtimes keep for themselves; not in `heap`
  Worst total_peak{}; // heap and mappings together at their peak; of nothing when there are no mappings
  std::vector<RuntimePool> total_peak_runtime{}; // of runtimes, set apart from the functions
};
// `show_runtime`: pools of runtimes stand among the functions.
MemoryPage make_memory_page(const TapeView& view, FrameFilter& filter, bool show_runtime);

// In the head of the page: "498.1 MB at its peak, at 1.92 s; ..."
std::string resident_line(const MemoryLedger& ledger);
// Of heap and mappings together; empty: that is the heap's peak.
std::string total_peak_line(const Findings& findings);
// Whether most of that peak is mappings.
bool is_mostly_mappings(const Findings& findings);
// The functions behind that peak. The findings must have one.
std::string total_peak_text(const TapeView& view, const MemoryPage& page, const TextStyle& style);
// What was resident, each section with an empty line before it; empty: there is nothing to say.
std::string memory_page_text(const TapeView& view, const MemoryPage& page, const TextStyle& style);
// Fields of an object that is open.
void write_memory_page_json(JsonWriter& json, const TapeView& view, const MemoryPage& page);

// The program's own mappings without the allocators'. Of nothing when the tape cannot say.
std::vector<StackCost> resident_mapping_costs(const MemoryLedger& ledger);
std::optional<MemoryLedger> memory_ledger_of(const TapeView& view);
// Blocks and mappings when both together were largest; without mappings, the heap's peak.
std::vector<StackCost> total_peak_costs(const TapeView& view);

} // namespace heaptape
