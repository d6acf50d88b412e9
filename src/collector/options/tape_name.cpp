#include "collector/options/tape_name.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/path_text.h"

namespace heaptape {

namespace {

std::string format_time(std::time_t time) {
  std::tm parts{};
  ::localtime_r(&time, &parts);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &parts);
  return std::string(text, size);
}

} // namespace

std::string expand_tape_name(const std::string& pattern, const TapeNameFacts& facts) {
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      name += pattern[i];
      continue;
    }
    switch (pattern[++i]) {
    case 'p': name += std::to_string(facts.pid); break;
    case 'n': name += facts.program.empty() ? "" : base_name(facts.program); break;
    case 't': name += format_time(facts.start); break;
    case '%': name += '%'; break;
    default: name += {'%', pattern[i]}; break;
    }
  }
  return name;
}

std::string numbered_tape_name(const std::string& name, unsigned number) {
  constexpr std::string_view kEnding = ".tape";
  const bool has_ending = name.size() > kEnding.size() && name.ends_with(kEnding);
  const std::string stem = has_ending ? name.substr(0, name.size() - kEnding.size()) : name;
  return stem + "." + std::to_string(number) + (has_ending ? std::string(kEnding) : std::string());
}

Result<TapeWriter> create_tape(const CollectorOptions& options, const TapeNameFacts& facts,
                               std::uint64_t start_realtime_ns) {
  constexpr unsigned kMostTries = 1000;
  const std::string name = expand_tape_name(options.tape, facts);
  CreateTape create{.path = name, .overwrite = options.force, .start_realtime_ns = start_realtime_ns, .pid = facts.pid};
  for (unsigned number = 2;; ++number) {
    Result<TapeWriter> writer = TapeWriter::create(create);
    const bool taken = !writer.ok() && writer.error().code == ErrorCode::Exists;
    if (!taken || options.tape_named || number > kMostTries) return writer;
    create.path = numbered_tape_name(name, number);
  }
}

std::string as_pattern(std::string_view folder) {
  std::string pattern;
  for (const char c : folder) pattern += c == '%' ? std::string("%%") : std::string(1, c);
  return pattern;
}

bool names_run(const std::string& output) {
  return !output.ends_with(".tape") && output.find("%p") == std::string::npos;
}

namespace {

constexpr const char* kRunList = "processes.jsonl";

// Takes the run in the folder away, and nothing else.
void clear_run(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
  while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name.ends_with(".tape") || name == kRunList) ::unlinkat(::dirfd(entries.get()), entry->d_name, 0);
  }
}

bool is_empty(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
  std::size_t count = 0;
  while (entries && ::readdir(entries.get()) != nullptr && count <= 2) ++count;
  return entries && count <= 2; // . and ..
}

} // namespace

Result<std::string> make_run_folder(const CollectorOptions& options, const TapeNameFacts& facts) {
  constexpr unsigned kMostTries = 1000;
  std::string folder = expand_tape_name(options.run, facts);
  const std::string first = folder;
  for (unsigned number = 2;; ++number) {
    if (::mkdir(folder.c_str(), 0700) == 0) return folder;
    const int reason = errno;
    struct stat status {};
    const bool is_folder = reason == EEXIST && ::stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    if (is_folder && (!options.run_begins || is_empty(folder))) return folder;
    if (is_folder && options.force) {
      clear_run(folder);
      return folder;
    }
    if (reason != EEXIST) {
      const ErrorCode code = reason == ENOENT || reason == ENOTDIR ? ErrorCode::NotFound : ErrorCode::Denied;
      return Error{code, "cannot make the folder '" + folder + "' for the run: " + std::strerror(reason) +
                             "; choose a place you may write to with -o"};
    }
    if (options.tape_named || number > kMostTries)
      return Error{ErrorCode::Exists, "cannot make the folder '" + folder +
                                          "' for the run: it already exists; choose another name with -o, or replace "
                                          "what is in it with --force"};
    folder = first + "." + std::to_string(number);
  }
}

Result<> check_tape_name(const std::string& pattern) {
  if (pattern == "-")
    return Error{ErrorCode::Usage, "a tape cannot be written to standard output; name a file with -o (-o ./- for one "
                                   "named '-')"};
  if (pattern.ends_with('/'))
    return Error{ErrorCode::Usage, "'" + pattern + "' names a folder; name a tape in it: -o " + pattern + "%n.%p.tape"};
  return Unit{};
}

Result<> check_tape_folder(const std::string& pattern) {
  const std::size_t slash = pattern.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "." : pattern.substr(0, slash + 1);
  if (folder.find('%') != std::string::npos) return Unit{}; // known only when the program is
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return Unit{};
  const ErrorCode code = errno == ENOENT || errno == ENOTDIR ? ErrorCode::NotFound : ErrorCode::Denied;
  return Error{code, "cannot write a tape into " + folder + ": " + std::strerror(errno)};
}

} // namespace heaptape
