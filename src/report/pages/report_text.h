// The page of `heaptape report` as text and as JSON.
#pragma once

#include <string>

#include "report/pages/report_page.h"
#include "report/text/text_style.h"
#include "report/view/tape_view.h"

namespace heaptape {

struct ReportText {
  TextStyle style{};
  bool expand = false;        // trees: every frame on a line with its cost
  std::size_t leak_rows = 20; // causes of each class at most
};
std::string report_text(const TapeView& view, const ReportPage& page, const ReportText& options);
// One object on a line.
std::string report_json(const TapeView& view, const ReportPage& page);

} // namespace heaptape
