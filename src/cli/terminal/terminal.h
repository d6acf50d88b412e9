// What standard output can show.
#pragma once

#include <string>

#include "base/result.h"
#include "report/text/text_style.h"

namespace heaptape::cli {

// `color` is "auto", "always" or "never"; auto means: on a terminal, unless NO_COLOR is set. On a terminal lines are
// fitted to its width ($COLUMNS when that is set); what goes into a pipe or a file is not, so that it is the same
// everywhere.
Result<TextStyle> style_of_output(const std::string& color);

// The width to draw pictures in.
unsigned picture_width(const TextStyle& style);

} // namespace heaptape::cli
