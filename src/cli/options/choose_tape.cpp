#include "cli/options/choose_tape.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <string_view>
#include <tuple>

#include "cli/options/by_pid.h"
#include "cli/terminal/console.h"
#include "tape/format.h"

namespace heaptape::cli {
namespace {

constexpr std::string_view kPidHelp = "instead of TAPE: a program that is being recorded ('heaptape ps'), up to now";

// One too many ends in a choice of both, which is refused.
void take_pid(TapeChoice& tape, const std::string& text) {
  if (tape.pid)
    tape.path = text;
  else
    tape.pid = text;
}

bool begins_as_tape(const std::string& path) {
  std::array<char, sizeof format::kMagic> bytes{};
  std::ifstream file(path, std::ios::binary);
  return file.read(bytes.data(), bytes.size()) && std::equal(bytes.begin(), bytes.end(), format::kMagic);
}

} // namespace

Result<std::string> newest_tape(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
  std::string newest;
  timespec newest_time{};
  while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
    struct stat status {};
    const std::string_view name = entry->d_name;
    if (!name.ends_with(".tape") || ::fstatat(::dirfd(entries.get()), entry->d_name, &status, 0) != 0) continue;
    if (!S_ISREG(status.st_mode)) continue;
    const timespec& time = status.st_mtim;
    if (newest.empty() || std::tie(newest_time.tv_sec, newest_time.tv_nsec) < std::tie(time.tv_sec, time.tv_nsec)) {
      newest = name;
      newest_time = time;
    }
  }
  if (newest.empty()) {
    return Error{ErrorCode::NotFound,
                 "no *.tape in this directory; give one, or make one with 'heaptape record PROGRAM'"};
  }
  return newest;
}

bool may_be_tape(const std::string& word) {
  struct stat facts {};
  return word.ends_with(".tape") || (::stat(word.c_str(), &facts) == 0 && !S_ISDIR(facts.st_mode));
}

std::string take_tape_at_end(std::vector<std::string>& words) {
  if (words.empty() || !(words.back().ends_with(".tape") || begins_as_tape(words.back()))) return {};
  std::string tape = std::move(words.back());
  words.pop_back();
  return tape;
}

void TapeChoice::add_pid(OptionList& list) {
  list.each(
      "-p,--pid PID", [this](const std::string& text) { take_pid(*this, text); }, kPidHelp);
}

void TapeChoice::add(OptionList& list) {
  add_pid(list);
  list.word("TAPE", path);
}

void add_two(OptionList& list, TapeChoice& before, TapeChoice& after) {
  const auto next = [&before, &after]() -> TapeChoice& { return before.is_named() ? after : before; };
  list.each(
      "-p,--pid PID", [next](const std::string& text) { take_pid(next(), text); }, kPidHelp);
  list.each_word("TAPE", 2, [next](const std::string& text) { next().path = text; });
}

Result<> check_choice(const TapeChoice& tape) {
  if (tape.path.empty() || !tape.pid) return Unit{};
  return Error{ErrorCode::Usage, "give either TAPE or -p PID"};
}

Result<> choose_tape(TapeChoice& tape) {
  if (const Result<> checked = check_choice(tape); !checked) return checked.error();
  if (tape.pid) {
    Result<std::string> path = flushed_tape_of(*tape.pid);
    if (!path) return path.error();
    tape = {.path = std::move(path).value(), .pid = {}, .is_live = true};
  }
  if (!tape.path.empty()) return Unit{};
  Result<std::string> newest = newest_tape(".");
  if (!newest) return newest.error();
  tape.path = newest.value();
  say(tape.path + " (the newest tape here)");
  return Unit{};
}

Result<TapeReader> open_chosen_tape(TapeChoice& tape) {
  if (const Result<> chosen = choose_tape(tape); !chosen) return chosen.error();
  return TapeReader::open(tape.path);
}

} // namespace heaptape::cli
