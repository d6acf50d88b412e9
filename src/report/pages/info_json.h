// `heaptape info --json`.
#pragma once

#include <string>

#include "report/pages/tape_facts.h"
#include "tape/reader.h"

namespace heaptape {

// One object with everything a tape holds besides its events, stacks and samples; a field per line.
std::string info_json(const std::string& name, const TapeReader& tape, const TapeFacts& facts);

} // namespace heaptape
