// What heaptape ends with. `record` ends with the program's own status, or with 126 or 127
// (collector/launch/launcher.h).
#pragma once

namespace heaptape::cli {

inline constexpr int kOk = 0;
inline constexpr int kProblemsFound = 1; // verify, check-heap: something is not as it should be
inline constexpr int kTrouble = 2;       // wrong options, or something of ours that did not work
inline constexpr int kWithoutMemory = 3; // snapshot --contents: the moment is on the tape, what memory held is not

} // namespace heaptape::cli
