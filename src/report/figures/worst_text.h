// A table of functions, the most expensive first:
//
//     41.2 %  128.7 MB   1,024x  Cache::insert  cache.cpp:88  <- Session::load <- handle_request
#pragma once

#include <string>
#include <string_view>

#include "report/figures/worst.h"
#include "report/text/json_writer.h"
#include "report/text/text_style.h"

namespace heaptape {

// Lines that end with a newline. Shares are of `worst.total`; what is not shown is a line of its own, so that all add
// up.
std::string worst_text(const StackNames& names, const Worst& worst, Measure measure, const TextStyle& style);

// An array of objects; file, line and callers where they are known.
void write_worst_json(JsonWriter& json, const StackNames& names, const Worst& worst);

} // namespace heaptape
