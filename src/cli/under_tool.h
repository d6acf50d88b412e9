// Command lines that run a program inside another tool with the recorder in the program only, never in the tool.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heaptape::cli {

// One word of a POSIX shell command line that stands for exactly this text.
std::string shell_quoted(std::string_view text);

// `variables` as NAME=VALUE; empty: the program is not recorded. `command` is the program with its arguments.
std::vector<std::string> gdb_command(const std::vector<std::string>& variables,
                                     const std::vector<std::string>& command);
std::vector<std::string> perf_command(const std::vector<std::string>& variables,
                                      const std::vector<std::string>& command, const std::string& output);

} // namespace heaptape::cli
