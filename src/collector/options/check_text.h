// What the checks in the program are to do, as they read it (recorder/check/options.h): MODE[,NAME=VALUE]...
//
//   check | full      how much is looked at
//   guard             blocks lie on pages of their own, between pages that nobody may touch
//   sample            one in N allocations (every=N) is guarded, and nothing else is recorded
//   side=right|left|random, align=N, from=BYTES, to=BYTES   where they lie there, and blocks of which sizes
//   fail              as check, and some allocations fail on purpose (recorder/check/failing.h)
//   stomp=HH          what released memory is filled with, two hexadecimal digits
//   fill=HH|none      what memory is filled with that malloc gives
//   quarantine=BYTES  how much released memory is kept
//   sweep=BYTES       look at all blocks whenever a thread has released so much
//   on-error=report|stop|abort
//   nth=N | every=N | chance=N      fail: which of those that meet the conditions; chance: N of 2^32
//   seed=N, above=BYTES, below=BYTES, in=OBJECT, from=BEGIN-END[@OBJECT]
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace heaptape {

// The text, if the checks can read it; the sentence of an Error says what is wrong with it.
Result<std::string> parse_check(const std::string& text);
// What an object may be called there: the last part of a path.
bool is_object_name(std::string_view text);
// "check", "full", "guard", "sample" or "fail".
std::string mode_of_check(const std::string& text);

} // namespace heaptape
