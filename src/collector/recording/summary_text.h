// The one line that a finished recording prints.
#pragma once

#include <string>

#include "collector/recording/collector.h"

namespace heaptape {

// "1,234,567 events in 2.31 s, peak 12.3 MB, ...", without "heaptape: " and newline.
std::string summary_text(const CollectorResult& result);

// One line on stderr: "heaptape: " and the text.
void print_line(const std::string& text);

// Prints the summary (unless quiet) and what went wrong (unless already reported), each as one line on stderr.
void print_result(const CollectorResult& result, bool quiet);

} // namespace heaptape
