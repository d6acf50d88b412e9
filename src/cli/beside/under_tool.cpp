#include "cli/beside/under_tool.h"

namespace heaptape::cli {

std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::vector<std::string> gdb_knows_heaptape(const std::string& binary, const std::string& library) {
  const std::string folder = library.substr(0, library.rfind('/'));
  // gdb also loads it itself when the program loads the library; without the first option it would warn instead.
  return {"-iex", "add-auto-load-safe-path " + folder, "-iex", "source " + library + "-gdb.py",
          "-iex", "set heaptape binary " + binary};
}

std::vector<std::string> gdb_command(const std::vector<std::string>& variables, const std::vector<std::string>& command,
                                     const std::vector<std::string>& options) {
  std::vector<std::string> words{"gdb", "-q"};
  words.insert(words.end(), options.begin(), options.end());
  if (!variables.empty()) {
    // gdb runs "exec WRAPPER PROGRAM ARGS" in a shell. env is not preloaded, and the shell is not either.
    std::string wrapper = "set exec-wrapper env";
    for (const std::string& variable : variables) wrapper += " " + shell_quoted(variable);
    // The signal by which the recorder samples CPU time: no reason to stop.
    words.insert(words.end(), {"-ex", wrapper, "-ex", "handle SIG32 nostop noprint pass"});
  }
  words.push_back("--args");
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::vector<std::string> perf_command(const std::vector<std::string>& variables,
                                      const std::vector<std::string>& command, const std::string& output) {
  std::vector<std::string> words{"perf", "record", "-g", "-o", output, "--"};
  if (!variables.empty()) {
    words.push_back("env");
    words.insert(words.end(), variables.begin(), variables.end());
  }
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

} // namespace heaptape::cli
