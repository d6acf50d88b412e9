// Parses the options of one command and does what ends it early: prints its help, or says what is wrong.
#pragma once

#include <optional>

#include "cli/options/arguments.h"
#include "options/help_text.h"
#include "options/option_list.h"

namespace heaptape::cli {

// The result is an exit status when the command is over: help was shown, or the options were wrong.
std::optional<int> ended_by(const Result<OptionList::Outcome>& outcome, const OptionList& list,
                            const CommandHelp& help);
// Declares --no-pager, which every command has and only 'heaptape --help' lists.
void add_no_pager(OptionList& list);
// Declares that and parses, too.
std::optional<int> parse(OptionList& list, const CommandHelp& help, Arguments arguments);

} // namespace heaptape::cli
