// Processes that the program made and that are not recorded, as it noted them in the shared memory (wire::Children).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tape/contents.h"
#include "wire/layout.h"

namespace heaptape {

struct UnseenChildren {
  struct Running {
    pid_t pid = 0;
    std::string name;
  };

  std::uint64_t count = 0;
  std::map<std::string, std::uint64_t> programs{}; // how many of each; the first wire::kNotedChildren
  std::vector<Running> running{};                  // those that have outlived the program
};

// What the page says. `program` is the name of those that became no other program. With `look`, /proc is asked which of them still run: the
// program's process ids must mean the same here. The page is hostile; a count that cannot be is cut.
UnseenChildren unseen_children(const wire::Children& page, const std::string& program, bool look);

// "cc1plus, as (2), ld and 3 others", the most frequent first.
std::string programs_text(const UnseenChildren& children);

// Sentences for the user; none when there were no children.
std::vector<std::string> unseen_children_text(const UnseenChildren& children, const std::string& program);

// For the tape: "unseen_children", "unseen_programs", "left_running" (docs/tape-format.md).
Meta unseen_children_meta(const UnseenChildren& children);

} // namespace heaptape
