// Where the options of `heaptape record` end and the program begins.
#pragma once

#include "cli/options/arguments.h"
#include "options/option_list.h"

namespace heaptape::cli {

struct RecordArguments {
  Arguments options; // ours, in front of the program
  Arguments command; // the program and everything after it, which is never ours; empty: no program was named
};

// The program is the first argument that is neither an option of `list` nor an option's value, or the one after "--".
RecordArguments split_record_arguments(const OptionList& list, Arguments arguments);

} // namespace heaptape::cli
