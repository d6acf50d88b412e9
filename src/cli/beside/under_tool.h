// Command lines that run a program inside another tool with the recorder in the program only, never in the tool.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heaptape::cli {

// One word of a POSIX shell command line that stands for exactly this text.
std::string shell_quoted(std::string_view text);

// Options of gdb that give it the commands of heaptape: the file beside the recorder's library. `binary` is the
// heaptape that answers.
std::vector<std::string> gdb_knows_heaptape(const std::string& binary, const std::string& library);

// `variables` as NAME=VALUE; empty: the program is not recorded. `command` is the program with its arguments, `options`
// further ones of gdb.
std::vector<std::string> gdb_command(const std::vector<std::string>& variables, const std::vector<std::string>& command,
                                     const std::vector<std::string>& options = {});
std::vector<std::string> perf_command(const std::vector<std::string>& variables,
                                      const std::vector<std::string>& command, const std::string& output);

} // namespace heaptape::cli
