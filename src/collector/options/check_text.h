// What the checks in the program are to do, as they read it (recorder/check/options.h): MODE[,NAME=VALUE]...
//
//   check | full      how much is looked at
//   guard             blocks lie on pages of their own, between pages that nobody may touch
//   sample            one in so many allocations (every=N) is guarded, and nothing else is recorded
//   side=right|left|random, from=BYTES, to=BYTES   where they lie there, and blocks of which sizes
//   stomp=HH          what released memory is filled with, two hexadecimal digits
//   fill=HH|none      what memory is filled with that malloc gives
//   quarantine=BYTES  how much released memory is kept
//   on-error=report|stop|abort
#pragma once

#include <string>

#include "base/result.h"

namespace heaptape {

// The text, if the checks can read it; the sentence of an Error says what is wrong with it.
Result<std::string> parse_check(const std::string& text);
// "check", "full", "guard" or "sample".
std::string mode_of_check(const std::string& text);

} // namespace heaptape
