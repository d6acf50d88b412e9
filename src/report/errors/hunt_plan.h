// How to catch in the act what an error was found by later: which blocks to guard when the program runs again.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "report/errors/error_list.h"

namespace heaptape {

struct HuntPlan {
  std::uint64_t size = 0;       // of the blocks to guard
  bool at_left = false;         // at the begin of their pages, else at the end
  std::uint64_t alignment = 16; // so small that such a block ends where its page does
  std::string sentence{};       // what is looked for, and how
};

// An Error says why there is nothing to hunt.
Result<HuntPlan> plan_hunt(const ErrorContext& error);

} // namespace heaptape
