// The commands of heaptape, one file each. Every function takes the arguments after the command's name and returns the exit
// status.
#pragma once

#include <string_view>

#include "cli/arguments.h"

namespace heaptape::cli {

int record(Arguments arguments);
int dump(Arguments arguments);
int info(Arguments arguments);
int verify(Arguments arguments);
int symbolize(Arguments arguments);
int index(Arguments arguments);
int report(Arguments arguments);
int leaks(Arguments arguments);
int peak(Arguments arguments);
int top(Arguments arguments);
int cpu(Arguments arguments);
int timeline(Arguments arguments);
int diff(Arguments arguments);
int sql(Arguments arguments);
int budget(Arguments arguments);
int export_tape(Arguments arguments);
int import_tape(Arguments arguments);
int shell(Arguments arguments);
// A command of the shell by its name.
int ask(std::string_view name, Arguments arguments);
// Started by the recorder in programs that run without `heaptape record`; not for users.
int collect(Arguments arguments);

} // namespace heaptape::cli
