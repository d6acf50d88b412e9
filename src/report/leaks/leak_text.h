// Leaks in words and as JSON.
#pragma once

#include <cstddef>
#include <string>

#include "report/leaks/leak_report.h"
#include "report/names/stack_text.h"
#include "report/text/json_writer.h"
#include "report/text/text_style.h"

namespace heaptape {

// "memory of snapshot 2 ('warm'), event 1,234 at 12.500000 s"
std::string snapshot_words(std::uint64_t number, const std::string& name, std::uint64_t event, std::uint64_t time_us);
// "definitely lost 64.0 kB in 1,000 blocks, and 100 kB in 1,000 blocks that only they lead to"; "nothing is lost".
std::string leak_summary(const LeakReport& report);

// The classes, and at most this many lines for the causes of each.
std::string leak_text(const LeakReport& report, StackText& stacks, const TextStyle& style, std::size_t rows);
// The same in a few lines: a sentence, and the worst causes of what is definitely lost.
std::string lost_lines(const LeakReport& report, StackText& stacks, std::size_t rows);
// An object.
void write_leak_json(JsonWriter& json, const LeakReport& report, StackText& stacks);

} // namespace heaptape
