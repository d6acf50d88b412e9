// `heaptape info`: what a tape holds, for people.
#pragma once

#include <string>

#include "report/pages/tape_facts.h"
#include "tape/reader.h"

namespace heaptape {

struct InfoOptions {
  bool list_all = false; // pools, threads and modules, however many
};
// `name` is the tape's, as the user calls it.
std::string info_text(const std::string& name, const TapeReader& tape, const TapeFacts& facts,
                      const InfoOptions& options);

} // namespace heaptape
