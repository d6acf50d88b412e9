// Debug files from the servers that $DEBUGINFOD_URLS names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace heaptape {

// Path of the debug file with this build-id, in the user's cache; fetched when it is not there yet. nullopt: no server
// has it, none is configured, or libdebuginfod is not installed. Without $DEBUGINFOD_URLS nothing is loaded and nothing
// asked.
std::optional<std::string> debuginfod_debug_file(std::span<const std::uint8_t> build_id);

} // namespace heaptape
