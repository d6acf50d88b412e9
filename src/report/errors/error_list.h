// The memory errors of a program, one per cause: what the checks in it have found (`heaptape check`), and releases that were wrong, which
// every tape knows of. Errors that were found by the same call about blocks of the same origin are one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "report/errors/error_context.h"
#include "report/select/suppressions.h"
#include "report/view/tape_view.h"
#include "tape/contents.h"

namespace heaptape {

struct ErrorList {
  bool checked = false;                 // the program ran with checks
  std::string mode{};                   // of the checks
  std::vector<ErrorContext> contexts{}; // by first occurrence; without those that are suppressed
  std::uint64_t errors = 0;             // in them
  std::uint64_t suppressed_errors = 0, suppressed_contexts = 0;
  std::uint64_t left_out = 0; // errors that were counted, but not kept or not looked into
  bool stopped = false;       // should_stop() said so: it may not be complete
};

struct FindErrors {
  Suppressions* suppressions = nullptr; // what they match is counted there
  std::function<bool()> should_stop{};  // asked now and then
};

// Reads the events of the tape only where there are errors, and then at most twice, however many errors there are. The list refers to the
// tape, which must outlive it.
ErrorList find_errors(const TapeView& view, const FindErrors& options = {});
// The same of other memory errors than the tape's.
ErrorList find_errors(const TapeView& view, const MemoryErrors& memory, const FindErrors& options);

} // namespace heaptape
