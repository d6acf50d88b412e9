#include "cli/options/by_pid.h"

#include <sys/stat.h>

#include <charconv>
#include <deque>

#include "base/number_text.h"
#include "base/path_text.h"
#include "cli/terminal/console.h"
#include "collector/control/control_client.h"

namespace heaptape::cli {
namespace {

// Tapes that were asked for by pid. Arguments point to them, so they live as long as the process.
std::deque<std::string>& flushed_tapes() {
  static std::deque<std::string> tapes;
  return tapes;
}

Result<const char*> tape_of(std::string_view text) {
  const Result<pid_t> pid = parse_pid(text);
  if (!pid) return pid.error();
  const Result<LiveRecording> recording = flush_tape(pid.value());
  if (!recording) return recording.error();
  say(fmt::format("process {} ({}) after {}: {}", pid.value(), printable(base_name(recording.value().program)),
                  duration_text(recording.value().elapsed_us), printable(recording.value().tape)));
  return flushed_tapes().emplace_back(recording.value().tape).c_str();
}

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat of_a {
  }, of_b{};
  return ::stat(a.c_str(), &of_a) == 0 && ::stat(b.c_str(), &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
         of_a.st_ino == of_b.st_ino;
}

} // namespace

Result<pid_t> parse_pid(std::string_view text) {
  pid_t pid = 0;
  const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (status == std::errc{} && rest == text.data() + text.size() && pid > 0) return pid;
  return Error{ErrorCode::Usage,
               "'" + printable(text) + "' is not a process id; 'heaptape ps' lists what is being recorded"};
}

Result<Arguments> with_tapes_of_programs(Arguments arguments) {
  static std::vector<const char*> replaced; // one command line per process
  replaced.clear();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word == "--") {
      replaced.insert(replaced.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
      break;
    }
    constexpr std::string_view kLong = "--pid=";
    const bool apart = word == "-p" || word == "--pid";
    if (!apart && !word.starts_with(kLong)) {
      replaced.push_back(arguments[i]);
      continue;
    }
    if (apart && i + 1 == arguments.size()) return Error{ErrorCode::Usage, "-p needs a process id"};
    const Result<const char*> tape = tape_of(apart ? std::string_view(arguments[++i]) : word.substr(kLong.size()));
    if (!tape) return tape.error();
    replaced.push_back(tape.value());
  }
  return Arguments(replaced);
}

std::optional<LiveRecording> recording_of(const std::string& tape) {
  const Result<std::vector<LiveRecording>> all = live_recordings();
  if (!all) return std::nullopt;
  for (const LiveRecording& recording : all.value()) {
    if (is_same_file(recording.tape, tape)) return recording;
  }
  return std::nullopt;
}

bool is_up_to_date(const std::string& tape) {
  for (const std::string& flushed : flushed_tapes()) {
    if (flushed == tape) return true;
  }
  return false;
}

} // namespace heaptape::cli
