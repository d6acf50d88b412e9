// What is wrong with a tape, in sentences.
#pragma once

#include <string>
#include <vector>

#include "tape/reader.h"

namespace heaptape {

// One sentence per stretch of the file that could not be read; after a few, one for the rest.
std::vector<std::string> damage_sentences(const std::vector<Damage>& damage);

} // namespace heaptape
