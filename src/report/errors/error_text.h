// A list of memory errors as text for people.
#pragma once

#include <cstddef>
#include <string>

#include "report/errors/error_list.h"
#include "report/names/stack_text.h"
#include "report/text/text_style.h"

namespace heaptape {

struct ErrorTextOptions {
  TextStyle style{};
  std::size_t depth = 0;    // frames of each stack; 0: all
  std::size_t rows = 0;     // errors; 0: all
  std::string tape_words{}; // how the next command is to name the tape: "app.tape"; empty: as it is
};

// All of it: the errors in order, what was not looked for, and the summary. Lines, each ended.
std::string error_list_text(const TapeView& view, const ErrorList& list, const ErrorTextOptions& options);
// One error with its stacks, its bytes and its neighbours. Lines, each ended.
std::string error_text(const TapeView& view, StackText& stacks, const ErrorContext& error,
                       const ErrorTextOptions& options);

// "ERROR SUMMARY: 3 errors from 2 contexts (suppressed: 0 from 0)", as memcheck says it.
std::string error_summary(const ErrorList& list);
// "the program ran with checks (mode check)", or that it did not, and what was not looked for.
std::string error_coverage(const ErrorList& list);

} // namespace heaptape
