// What a forked program had from its parent, in words.
#pragma once

#include <cstdint>
#include <string>

#include "report/text/json_writer.h"
#include "tape/reader.h"

namespace heaptape {

// "12.3 MB in 4,512 blocks from process 812 at the fork, of which 3.00 kB in 5 blocks were released"; empty: the program
// was not forked by a recorded one.
std::string inheritance_text(const TapeReader& tape);
void write_inheritance_json(JsonWriter& json, const Inheritance& figures);
// Of so many releases of blocks that were not made on the tape: those of blocks that it does not know as inherited either.
std::uint64_t truly_unknown(const TapeReader& tape, std::uint64_t unknown_releases);

} // namespace heaptape
