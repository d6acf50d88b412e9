// Entries that leave memory errors out the next time, in valgrind's syntax, as report/select/suppressions.h reads it.
#pragma once

#include <string>

#include "report/errors/error_list.h"

namespace heaptape {

// One for each error; of one without a stack a comment.
std::string suppressions_for(const TapeView& view, const ErrorList& list);

} // namespace heaptape
