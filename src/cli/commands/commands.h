// The commands of heaptape, one file each. Every function takes the arguments after the command's name and returns the
// exit status.
#pragma once

#include <string_view>

#include "cli/options/arguments.h"

namespace heaptape::cli {

int record(Arguments arguments);
int check(Arguments arguments);
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
int errors(Arguments arguments);
int hunt(Arguments arguments);
int budget(Arguments arguments);
int export_tape(Arguments arguments);
int flamegraph(Arguments arguments);
int html(Arguments arguments);
int import_tape(Arguments arguments);
int shell(Arguments arguments);
// A command of the shell by its name.
int ask(std::string_view name, Arguments arguments);
// The collector of programs that run without `heaptape record`: of one, started by the recorder, or of all that
// connect.
int collect(Arguments arguments);
int ps(Arguments arguments);
int mark(Arguments arguments);
int snapshot(Arguments arguments);
int stop(Arguments arguments);
int flush(Arguments arguments);
int where(Arguments arguments);
int gdb(Arguments arguments);
// For the completions of shells: 'pids' or 'moments', then the words of the command line; a line each.
int complete(Arguments arguments);

} // namespace heaptape::cli
