// From what the user typed to the file the kernel will run: PATH, scripts and their interpreters.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace heaptape {

// The first line of a script.
struct Shebang {
  std::string interpreter;
  std::string argument; // everything after it, blanks trimmed; the kernel passes it as one argument
  friend bool operator==(const Shebang&, const Shebang&) = default;
};

// nullopt: the bytes do not begin with "#!" and a name.
std::optional<Shebang> parse_shebang(std::span<const std::byte> file);

// The command a script's "#!/usr/bin/env NAME" or "env -S NAME ARGS" line ends up running, before the script's own path
// is appended; nullopt when it is not such a line, or one that only env itself understands.
std::optional<std::vector<std::string>> command_behind_env(const Shebang& shebang);

// Searches as execvp does: a name with a slash is taken as it is, others are looked for in `search_path`
// ("/bin:/usr/bin" when it is null). NotFound: a shell would end with 127. Denied: it is there and cannot be run, 126.
Result<std::string> find_program(const std::string& name, const char* search_path);

// What will be executed.
struct Program {
  std::string path;                   // the file to give to execve
  std::vector<std::string> arguments; // argv, [0] included
};

// Finds the program of a command line. A script that asks env to find its interpreter is resolved here, so that the
// interpreter is recorded rather than env, which leaves no trace of itself anyway.
Result<Program> resolve_program(const std::vector<std::string>& command, const char* search_path);

// The first bytes of a file, enough for a script's first line; empty when it cannot be read.
std::vector<std::byte> read_beginning(const std::string& path);

} // namespace heaptape
