#include "cli/options/by_pid.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <vector>

#include "base/near_word.h"
#include "base/number_text.h"
#include "base/path_text.h"
#include "cli/terminal/console.h"
#include "collector/control/control_client.h"
#include "tape/format.h"

namespace heaptape::cli {
namespace {

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat of_a {
  }, of_b{};
  return ::stat(a.c_str(), &of_a) == 0 && ::stat(b.c_str(), &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
         of_a.st_ino == of_b.st_ino;
}

std::optional<pid_t> parse_pid(std::string_view text) {
  pid_t pid = 0;
  const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (status == std::errc{} && rest == text.data() + text.size() && pid > 0) return pid;
  return std::nullopt;
}

// The kernel's short name of a process, 15 letters at most; empty: there is no such process.
std::string comm_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

// What people call it, after what ps and top show: the name that it was started by, argv[0], the kernel's, its file's.
// They differ for a program that was started through a link or by a script.
std::vector<std::string> names_of(const LiveRecording& recording) {
  std::vector<std::string> names{std::string(base_name(recording.program))};
  const auto add = [&](std::string name) {
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  };
  add(std::string(base_name(std::string_view(recording.command).substr(0, recording.command.find('\0')))));
  const std::string pid = std::to_string(recording.pid);
  add(comm_of(pid));
  std::error_code unknown;
  add(std::filesystem::read_symlink("/proc/" + pid + "/exe", unknown).filename().string());
  return names;
}

bool has_name(const LiveRecording& recording, std::string_view name) {
  const std::vector<std::string> names = names_of(recording);
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The ids of a few running processes whose program has this name.
std::vector<std::string> processes_named(std::string_view name) {
  constexpr std::size_t kKept = 15, kFew = 5;
  std::vector<std::string> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> processes(::opendir("/proc"), ::closedir);
  while (const dirent* entry = processes ? ::readdir(processes.get()) : nullptr) {
    if (!parse_pid(entry->d_name)) continue;
    if (name.empty() || comm_of(entry->d_name) != name.substr(0, kKept)) continue;
    found.emplace_back(entry->d_name);
    if (found.size() == kFew) break;
  }
  return found;
}

// Whether a tape of another recording lies where this one's was: each begins at a time of its own.
bool is_replaced(const LiveRecording& recording) {
  std::ifstream file(recording.tape, std::ios::binary);
  format::FileHeader header{};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return false;
  return recording.started_realtime_ns != 0 && header.start_realtime_ns != recording.started_realtime_ns;
}

} // namespace

Result<pid_t> find_process(std::string_view text) {
  if (const std::optional<pid_t> pid = parse_pid(text)) return *pid;
  std::size_t silent = 0;
  const Result<std::vector<LiveRecording>> all = live_recordings(&silent);
  if (!all) return all.error();
  std::vector<std::string> names, pids;
  pid_t only = 0;
  for (const LiveRecording& one : all.value()) {
    for (std::string& name : names_of(one)) names.push_back(std::move(name));
    if (!has_name(one, text)) continue;
    only = one.pid;
    pids.push_back(std::to_string(one.pid));
  }
  const std::string shown = "'" + printable(text) + "'";
  if (pids.size() == 1) return only;
  if (pids.size() > 1) {
    return Error{ErrorCode::Usage, fmt::format("{} programs named {} are being recorded: {}; give one of these process "
                                               "ids ('heaptape ps' tells them apart)",
                                               pids.size(), shown, listed(pids, "and"))};
  }
  if (silent != 0)
    return Error{ErrorCode::Io, shown + " may be a program whose collector does not answer, because it is stopped or "
                                        "very busy; try again, or read the tape as it is"};
  std::vector<std::string> running = processes_named(text);
  std::erase_if(running, [&](const std::string& pid) {
    return std::any_of(all.value().begin(), all.value().end(),
                       [&](const LiveRecording& one) { return std::to_string(one.pid) == pid; });
  });
  if (!running.empty()) {
    return Error{ErrorCode::NotFound, fmt::format("{} is running ({} {}) but not being recorded by you; heaptape "
                                                  "must start a program to record it: heaptape record {}",
                                                  shown, running.size() == 1 ? "process" : "processes",
                                                  listed(running, "and"), printable(text))};
  }
  const std::string meant = did_you_mean(text, names);
  return Error{ErrorCode::Usage, shown + " is neither a process id nor a program that is being recorded" +
                                     (meant.empty() ? "; 'heaptape ps' lists these" : meant)};
}

std::string about_attaching(std::string_view text) {
  const Result<pid_t> pid = find_process(text);
  if (!pid) return pid.error().sentence;
  const Result<LiveRecording> recording = live_recording(pid.value());
  if (!recording) return recording.error().sentence;
  return fmt::format(
      "process {0} ({1}) is being recorded already: 'heaptape top -p {0}' shows it live, 'heaptape report "
      "-p {0}' what happened so far",
      pid.value(), printable(base_name(recording.value().program)));
}

bool is_program_name(const std::string& word) {
  if (word.empty() || word.find('/') != word.npos) return false;
  if (const Result<std::vector<LiveRecording>> all = live_recordings()) {
    for (const LiveRecording& one : all.value()) {
      if (has_name(one, word)) return true;
    }
  }
  return !processes_named(word).empty();
}

namespace {

// What a forked program has from its parent is on the parent's tape.
void flush_parents(pid_t parent) {
  constexpr unsigned kMostParents = 64;
  for (unsigned i = 0; i < kMostParents && parent > 1; ++i) {
    const Result<LiveRecording> flushed = flush_tape(parent);
    if (!flushed) return;
    parent = flushed.value().parent;
  }
}

} // namespace

Result<std::string> flushed_tape_of(std::string_view process) {
  const Result<pid_t> pid = find_process(process);
  if (!pid) return pid.error();
  const Result<LiveRecording> recording = flush_tape(pid.value());
  if (!recording) return recording.error();
  flush_parents(recording.value().parent);
  if (is_replaced(recording.value()))
    return Error{ErrorCode::NotFound,
                 fmt::format("'{}' is another file by now, not the tape of process {}; if that was "
                             "renamed, read it under its new name",
                             printable(recording.value().tape), pid.value())};
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
