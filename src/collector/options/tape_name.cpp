#include "collector/options/tape_name.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

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

Result<> check_tape_folder(const std::string& pattern) {
  const std::size_t slash = pattern.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "." : pattern.substr(0, slash + 1);
  if (folder.find('%') != std::string::npos) return Unit{}; // known only when the program is
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return Unit{};
  const ErrorCode code = errno == ENOENT || errno == ENOTDIR ? ErrorCode::NotFound : ErrorCode::Denied;
  return Error{code, "cannot write a tape into " + folder + ": " + std::strerror(errno)};
}

} // namespace heaptape
