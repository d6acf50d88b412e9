#include "collector/launch/program_search.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/unique_fd.h"

namespace heaptape {
namespace {

constexpr std::size_t kFirstLine = 256; // the kernel looks no further either
constexpr std::string_view kBlanks = " \t";
constexpr int kMaxInterpreters = 5; // as the kernel allows

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// 0 when it can be executed, else the errno that execve would give.
int why_not_executable(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  if (!S_ISREG(status.st_mode)) return EACCES;
  return ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

} // namespace

std::optional<Shebang> parse_shebang(std::span<const std::byte> file) {
  std::string_view text(reinterpret_cast<const char*>(file.data()), std::min(file.size(), kFirstLine));
  if (!text.starts_with("#!")) return std::nullopt;
  const std::string_view line =
      trim(text.substr(2, text.find('\n') == std::string_view::npos ? text.npos : text.find('\n') - 2));
  if (line.empty()) return std::nullopt;
  const std::size_t name_end = std::min(line.find_first_of(kBlanks), line.size());
  return Shebang{std::string(line.substr(0, name_end)), std::string(trim(line.substr(name_end)))};
}

std::optional<std::vector<std::string>> command_behind_env(const Shebang& shebang) {
  const std::string_view interpreter = shebang.interpreter;
  if (interpreter != "/usr/bin/env" && interpreter != "/bin/env") return std::nullopt;
  std::string_view rest = shebang.argument;
  const bool split = rest.starts_with("-S");
  if (split) rest = trim(rest.substr(2));
  // Options, NAME=VALUE, quotes, escapes and variables are env's business.
  if (rest.empty() || rest.starts_with('-') || rest.find_first_of("='\"\\$#") != rest.npos) return std::nullopt;
  if (!split) return std::vector{std::string(rest)}; // the kernel passes it whole, blanks and all
  std::vector<std::string> words;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(kBlanks), rest.size());
    words.emplace_back(rest.substr(0, end));
    rest = trim(rest.substr(end));
  }
  return words;
}

Result<std::string> find_program(const std::string& name, const char* search_path) {
  if (name.find('/') != name.npos) {
    const int reason = why_not_executable(name);
    if (reason == 0) return name;
    return Error{reason == ENOENT || reason == ENOTDIR ? ErrorCode::NotFound : ErrorCode::Denied,
                 name + ": " + std::strerror(reason)};
  }
  int denied = 0;
  std::string_view path = search_path != nullptr ? search_path : "/bin:/usr/bin";
  for (bool more = !name.empty(); more;) {
    const std::size_t colon = path.find(':');
    const std::string_view folder = path.substr(0, colon);
    const std::string candidate = folder.empty() ? name : std::string(folder) + "/" + name;
    const int reason = why_not_executable(candidate);
    if (reason == 0) return candidate;
    if (reason == EACCES && denied == 0) denied = reason;
    more = colon != path.npos;
    if (more) path.remove_prefix(colon + 1);
  }
  if (denied != 0) return Error{ErrorCode::Denied, name + ": " + std::strerror(denied)};
  return Error{ErrorCode::NotFound, name + ": command not found"};
}

std::vector<std::byte> read_beginning(const std::string& path) {
  std::vector<std::byte> bytes(kFirstLine);
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t got = file ? ::read(file.get(), bytes.data(), bytes.size()) : -1;
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

Result<Program> resolve_program(const std::vector<std::string>& command, const char* search_path) {
  HT_CHECK(!command.empty());
  Result<std::string> found = find_program(command[0], search_path);
  if (!found) return found.error();
  Program program{found.value(), command};
  // The interpreter may be a script itself, as those of version managers are.
  for (int depth = 0; depth < kMaxInterpreters; ++depth) {
    const auto shebang = parse_shebang(read_beginning(program.path));
    auto behind_env = shebang ? command_behind_env(*shebang) : std::nullopt;
    if (!behind_env) break;
    const Result<std::string> interpreter = find_program(behind_env->front(), search_path);
    if (!interpreter) break; // env will say so
    behind_env->push_back(program.path);
    behind_env->insert(behind_env->end(), program.arguments.begin() + 1, program.arguments.end());
    program = {interpreter.value(), std::move(*behind_env)};
  }
  return program;
}

} // namespace heaptape
