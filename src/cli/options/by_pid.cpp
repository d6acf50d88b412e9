#include "cli/options/by_pid.h"

#include <sys/stat.h>

#include <charconv>
#include <vector>

#include "base/number_text.h"
#include "base/path_text.h"
#include "cli/terminal/console.h"
#include "collector/control/control_client.h"

namespace heaptape::cli {
namespace {

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

Result<std::string> flushed_tape_of(std::string_view pid_text) {
  const Result<pid_t> pid = parse_pid(pid_text);
  if (!pid) return pid.error();
  const Result<LiveRecording> recording = flush_tape(pid.value());
  if (!recording) return recording.error();
  say(fmt::format("process {} ({}) after {}: {}", pid.value(), printable(base_name(recording.value().program)),
                  duration_text(recording.value().elapsed_us), printable(recording.value().tape)));
  return recording.value().tape;
}

std::optional<LiveRecording> recording_of(const std::string& tape) {
  const Result<std::vector<LiveRecording>> all = live_recordings();
  if (!all) return std::nullopt;
  for (const LiveRecording& recording : all.value()) {
    if (is_same_file(recording.tape, tape)) return recording;
  }
  return std::nullopt;
}

} // namespace heaptape::cli
