// Times as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace heaptape {

// "2min", "12.5s", "200ms", "300us" or "µs"; nullopt: it is no time.
std::optional<std::uint64_t> parse_time_us(std::string_view text);

} // namespace heaptape
