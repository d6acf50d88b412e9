// Times as people write and read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heaptape {

// "2min", "12.5s", "200ms", "300us" or "µs"; nullopt: it is not a time.
std::optional<std::uint64_t> parse_time_us(std::string_view text);

// "12.35 s", "350 ms": CPU time, with no more digits than samples justify.
std::string cpu_time_text(std::uint64_t us);

} // namespace heaptape
