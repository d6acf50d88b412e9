// Values of recording options, read from the command line and from HEAPTAPE_* variables alike. An Error says what would
// be right. Sizes are read by parse_bytes() of base/number_text.h.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "wire/layout.h"

namespace heaptape {

// "1", "yes", "on", "true" or "0", "no", "off", "false", "".
Result<bool> parse_switch(const std::string& text);
Result<std::uint32_t> parse_depth(const std::string& text);
Result<std::uint32_t> parse_cpu_hz(const std::string& text);
Result<wire::OnFull> parse_on_full(const std::string& text);

} // namespace heaptape
