// `heaptape info --json`.
#pragma once

#include <fmt/format.h>

#include <string>

#include "report/pages/tape_facts.h"
#include "tape/reader.h"

namespace heaptape {

// One object with everything a tape holds besides its events, stacks and samples; a field per line.
void append_info_json(fmt::memory_buffer& out, const std::string& name, const TapeReader& tape, const TapeFacts& facts);

} // namespace heaptape
