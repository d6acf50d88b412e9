// Odd calls, for the commands that look at events and addresses.
#pragma once

#include <string>
#include <vector>

#include "analysis/moment/odd_findings.h"
#include "analysis/moment/tenant.h"
#include "report/text/json_writer.h"
#include "shell/session.h"

namespace heaptape {

// Those that gave an address of this range to the allocator, up to the cursor. Without `with_not_live` only those that the events
// themselves do not show: mismatches, wrong sizes, calls that failed or never returned.
std::vector<OddFinding> odd_calls_at(Session& session, const MemoryRange& range, bool with_not_live);
// The event itself, if it is one, and calls that are no events and came after it, before the next.
std::vector<OddFinding> odd_calls_of(Session& session, std::uint64_t event);

// A sentence for each, with its stack.
std::string odd_calls_text(Session& session, const std::vector<OddFinding>& findings);
// An array of objects.
void write_odd_calls(JsonWriter& json, Session& session, const std::vector<OddFinding>& findings);

} // namespace heaptape
