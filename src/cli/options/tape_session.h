// A session of the shell as the command line opens it.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "shell/session.h"
#include "shell/words.h"

namespace heaptape::cli {

struct SessionWishes {
  std::string tape; // empty: the newest here
  std::string at;   // empty: the end
  std::string names = "short", color = "auto";
  std::uint64_t limit = 0;
};

// Takes --at, --names, --color and --limit out of the words.
Result<SessionWishes> take_session_options(Words& words);

// Opens the tape, or the newest here; reports on standard error what is wrong with it.
Result<Session> open_session(SessionWishes& wishes);

} // namespace heaptape::cli
