#include "cli/commands/failing_functions.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/path_text.h"
#include "base/unique_fd.h"
#include "collector/options/check_text.h"
#include "symbols/demangle.h"
#include "symbols/symbol_list.h"

namespace heaptape::cli {
namespace {

constexpr std::size_t kMostRanges = 32; // recorder/check/failing.h

// What the loader says that it would load: "libx.so.1 => /usr/lib/libx.so.1 (0x7f12...)". With this variable it only tells, and the
// program does not run. Empty when it does not say.
std::string loader_answer(const std::string& program) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  const UniqueFd answer(ends[0]);
  UniqueFd to_us(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to_us.get(), STDOUT_FILENO);
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("LD_PRELOAD=")) variables.push_back(*variable);
  }
  std::string tell = "LD_TRACE_LOADED_OBJECTS=1", name = program;
  variables.push_back(tell.data());
  variables.push_back(nullptr);
  char* words[] = {name.data(), nullptr};
  pid_t pid = 0;
  const int spawned = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, words, variables.data());
  posix_spawn_file_actions_destroy(&actions);
  to_us.reset();
  if (spawned != 0) return {};
  std::string text;
  char buffer[4096];
  while (text.size() < kMostBytes) {
    const ssize_t size = ::read(answer.get(), buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    text.append(buffer, static_cast<std::size_t>(size));
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  return text;
}

std::vector<std::string> linked_libraries(const std::string& program) {
  const std::string answer = loader_answer(program);
  std::vector<std::string> paths;
  std::string_view rest = answer;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::size_t path = line.find('/'), end = line.rfind(" (");
    if (path != std::string_view::npos && end != std::string_view::npos && end > path)
      paths.emplace_back(line.substr(path, end - path));
  }
  return paths;
}

bool is_meant(const ListedSymbol& symbol, const std::string& name) {
  if (symbol.sort != SymbolSort::Function || symbol.size == 0) return false;
  const std::string_view linkage = symbol.name;
  // "load.part.0" and "load.cold" are parts of load.
  if (linkage.substr(0, linkage.find('.')) == name) return true;
  return linkage.starts_with('_') &&
         (demangle(linkage, NameForm::Short) == name || demangle(linkage, NameForm::Full) == name);
}

} // namespace

Result<std::string> failing_functions(const std::string& program, const std::string& name) {
  std::string text;
  std::size_t ranges = 0;
  const auto add = [&](const std::string& path, const std::string& object) {
    std::vector<std::string> problems; // a file without symbols has no function to name
    for (const ListedSymbol& symbol : list_symbols({.path = path}, SymbolOptions{}, problems)) {
      if (!is_meant(symbol, name) || ranges++ >= kMostRanges) continue;
      text += fmt::format(",from={:x}-{:x}{}", symbol.address, symbol.address + symbol.size, object);
    }
  };
  add(program, "");
  for (const std::string& library : linked_libraries(program)) {
    const std::string object(base_name(library));
    if (is_object_name(object)) add(library, "@" + object);
  }
  if (ranges == 0)
    return Error{ErrorCode::Usage, fmt::format("--fail-from: neither {} nor a library that it is linked with has a "
                                               "function '{}' of its own; it may be inlined everywhere",
                                               printable(base_name(program)), printable(name))};
  if (ranges > kMostRanges)
    return Error{ErrorCode::Usage,
                 fmt::format("--fail-from: {} functions are called '{}', and {} is the most; give one "
                             "with its parameters",
                             ranges, printable(name), kMostRanges)};
  return text;
}

} // namespace heaptape::cli
