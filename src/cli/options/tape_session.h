// A session of the shell as the command line opens it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options/choose_tape.h"
#include "options/option_list.h"
#include "shell/session.h"

namespace heaptape::cli {

struct SessionWishes {
  TapeChoice tape;
  std::string at; // empty: the end
  std::string names = "short", color = "auto";
  std::vector<std::string> plumbing;
  std::uint64_t limit = 0;
};

// Declares -p, --at, --limit, --names, --plumbing and --color, as far as the command has none of that name itself.
void add_session_options(OptionList& list, SessionWishes& wishes);

// Opens the tape, or the newest here; reports on standard error what is wrong with it.
Result<Session> open_session(SessionWishes& wishes);

} // namespace heaptape::cli
