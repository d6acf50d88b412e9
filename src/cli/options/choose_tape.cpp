#include "cli/options/choose_tape.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/near_word.h"
#include "base/number_text.h"
#include "cli/options/by_pid.h"
#include "cli/terminal/console.h"
#include "report/pages/run.h"
#include "report/pages/run_text.h"
#include "tape/format.h"

namespace heaptape::cli {
namespace {

constexpr std::string_view kPidHelp =
    "instead of TAPE: a program that is being recorded, by its id or name ('heaptape ps'), up to now";

constexpr std::string_view kProcessHelp =
    "if TAPE is a run ('record --follow'): which process, by id or name (default: the one that needed most memory)";

// One too many ends in a choice of both, which is refused.
void take_pid(TapeChoice& tape, const std::string& text) {
  if (tape.pid)
    tape.path = text;
  else
    tape.pid = text;
}

// Only what is surely not there is not; everything else is for whoever opens it to say.
bool is_there(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

std::vector<std::string> tapes_in(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
  while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
    if (std::string_view(entry->d_name).ends_with(".tape")) names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

} // namespace

namespace {

struct Newest {
  std::string name;
  timespec time{};

  void offer(std::string_view candidate, const timespec& at) {
    if (!name.empty() && std::tie(time.tv_sec, time.tv_nsec) >= std::tie(at.tv_sec, at.tv_nsec)) return;
    name = candidate;
    time = at;
  }
};

// When the run in this folder last changed; nothing: it is not one.
std::optional<timespec> time_of_run(int folder, const std::string& name) {
  struct stat list {};
  if (::fstatat(folder, (name + "/processes.jsonl").c_str(), &list, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return list.st_mtim;
}

// RUN:PID, RUN/PID and RUN/NAME as the run and the process; nothing: it is none of them. A name of a tape that is not
// there is not a process: every folder with tapes is a run.
std::optional<std::pair<std::string, std::string>> split_run(const std::string& text) {
  const std::size_t at = text.find_last_of(":/");
  if (at == std::string::npos || at == 0 || at + 1 == text.size() || text.ends_with(".tape")) return std::nullopt;
  std::string run = text.substr(0, at);
  if (!is_run(run)) return std::nullopt;
  return std::pair(std::move(run), text.substr(at + 1));
}

bool is_file(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && !S_ISDIR(facts.st_mode);
}

// Whether the text means a process that the run really has.
bool is_in_run(const std::string& text) {
  const auto parts = split_run(text);
  if (!parts) return false;
  const Result<Run> run = read_run(parts->first);
  return run && find_in_run(run.value(), parts->second);
}

Result<> choose_in_run(TapeChoice& tape) {
  std::string wanted = tape.process, folder = tape.path;
  if (!is_there(folder)) {
    auto parts = split_run(folder);
    if (!parts) return Unit{};
    std::tie(folder, wanted) = std::move(*parts);
  } else if (!is_run(folder)) {
    if (tape.process.empty()) return Unit{};
    return Error{ErrorCode::Usage, "--process chooses in a run, and " + printable(folder) + " is not one"};
  }
  const Result<Run> run = read_run(folder);
  if (!run) return run.error();
  const Result<std::size_t> chosen =
      wanted.empty() ? main_of_run(run.value(), tape.like) : find_in_run(run.value(), wanted);
  if (!chosen) return chosen.error();
  const RunProcess& process = run.value().programs[chosen.value()];
  tape.path = process.tape;
  tape.run = folder;
  tape.program = process.name;
  if (wanted.empty() && run.value().programs.size() > 1)
    say(fmt::format("{} (pid {}), the largest of {}; --process PID or NAME opens another", printable(process.tape),
                    process.pid, processes_text(run.value())));
  return Unit{};
}

} // namespace

Result<std::string> newest_tape(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
  Newest newest;
  while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
    struct stat status {};
    const std::string_view name = entry->d_name;
    if (name == "." || name == ".." || ::fstatat(::dirfd(entries.get()), entry->d_name, &status, 0) != 0) continue;
    if (S_ISREG(status.st_mode) && name.ends_with(".tape")) newest.offer(name, status.st_mtim);
    if (!S_ISDIR(status.st_mode)) continue;
    if (const auto time = time_of_run(::dirfd(entries.get()), entry->d_name)) newest.offer(name, *time);
  }
  if (newest.name.empty()) {
    return Error{ErrorCode::NotFound,
                 "no *.tape in this directory; give one, or make one with 'heaptape record PROGRAM'"};
  }
  return newest.name;
}

std::optional<std::pair<std::string, std::string>> split_snapshot(const std::string& text) {
  if (is_there(text)) return std::nullopt;
  // Names may hold an '@' themselves: a tape that is there comes first.
  for (bool (*const is_meant)(const std::string&) :
       {+[](const std::string& tape) { return is_file(tape) || is_run(tape) || is_in_run(tape); },
        +[](const std::string& tape) { return tape.ends_with(".tape"); }}) {
    for (std::size_t at = text.find('@'); at != text.npos && at + 1 < text.size(); at = text.find('@', at + 1)) {
      std::string tape = text.substr(0, at);
      if (is_meant(tape)) return std::pair(std::move(tape), text.substr(at + 1));
    }
  }
  return std::nullopt;
}

Result<std::string> moment_of(const TapeChoice& tape, const std::string& at) {
  if (tape.snapshot.empty()) return at;
  if (at.empty()) return "snapshot:" + tape.snapshot;
  return Error{ErrorCode::Usage, "give the moment either as '@" + printable(tape.snapshot) + "' or by --at"};
}

bool may_be_tape(const std::string& word) {
  if (word.ends_with(".tape") || is_file(word)) return true;
  return is_run(word) || split_run(word).has_value() || split_snapshot(word).has_value();
}

bool is_tape(const std::string& path) {
  std::array<char, sizeof format::kMagic> bytes{};
  std::ifstream file(path, std::ios::binary);
  return file.read(bytes.data(), bytes.size()) && std::equal(bytes.begin(), bytes.end(), format::kMagic);
}

std::vector<std::string> tape_before_options(const OptionList& list, std::vector<std::string> words) {
  const auto names_tape = [](const std::string& word) {
    return word.ends_with(".tape") || word.ends_with(".run") || is_tape(word) || is_run(word) ||
           split_run(word).has_value() || split_snapshot(word).has_value();
  };
  const auto is_option = [](const std::string& word) { return word.size() > 1 && word.starts_with('-'); };
  for (std::size_t at = 0; at < words.size() && words[at] != "--"; ++at) {
    const auto option = std::find_if(list.options().begin(), list.options().end(), [&](const Option& each) {
      return !each.is_word && (words[at] == each.long_name || words[at] == each.short_name);
    });
    if (option == list.options().end()) continue;
    std::size_t last = at;
    if (option->value == OptionValue::MayBe || option->value == OptionValue::Series) {
      while (last + 1 < words.size() && !is_option(words[last + 1])) {
        ++last;
        if (option->value == OptionValue::MayBe) break;
      }
    }
    if (option->value == OptionValue::Next) ++at; // whatever it is
    if (last == at || last >= words.size() || !names_tape(words[last])) continue;
    std::rotate(words.begin() + static_cast<std::ptrdiff_t>(at), words.begin() + static_cast<std::ptrdiff_t>(last),
                words.begin() + static_cast<std::ptrdiff_t>(last + 1));
    at = last;
  }
  return words;
}

void TapeChoice::add_pid(OptionList& list) {
  list.each(
      "-p,--pid PID", [this](const std::string& text) { take_pid(*this, text); }, kPidHelp);
  list.text("--process WHICH", process, kProcessHelp);
}

void TapeChoice::add(OptionList& list) {
  add_pid(list);
  list.each_word("TAPE", 1, [this](const std::string& text) {
    path = text;
    is_empty = text.empty();
  });
}

void TwoTapes::add(OptionList& list) {
  before.takes_snapshot = after.takes_snapshot = true;
  const auto next = [this]() -> TapeChoice& { return before.is_named() ? after : before; };
  list.each(
      "-p,--pid PID", [next](const std::string& text) { take_pid(next(), text); }, kPidHelp);
  list.each(
      "--process WHICH", [this](const std::string& text) { before.process = after.process = text; }, kProcessHelp);
  list.each_word("TAPE", 3, [this, next](const std::string& text) {
    words_.push_back(text);
    if (!after.is_named()) next().path = text;
  });
}

Result<> TwoTapes::settle() {
  const std::size_t named = words_.size() + (before.pid ? 1 : 0) + (after.pid ? 1 : 0);
  if (named < 3) return Unit{};
  const bool word_first = !before.pid && words_.size() == 3, program_first = before.pid && words_.size() == 2;
  if (after.pid || (!word_first && !program_first))
    return Error{ErrorCode::Usage, "give two tapes, or one tape and two moments"};
  after.path.clear();
  to = words_.back();
  from = words_[words_.size() - 2];
  return Unit{};
}

Result<> check_choice(TapeChoice& tape) {
  if (tape.is_empty)
    return Error{ErrorCode::Usage, "the name of the tape is empty; leave it out to read the newest tape here"};
  if (tape.path.empty()) return Unit{};
  if (tape.pid) return Error{ErrorCode::Usage, "give either TAPE or -p PID"};
  if (tape.path.ends_with('@') && !is_there(tape.path)) {
    const std::string name = tape.path.substr(0, tape.path.size() - 1), shown = printable(name);
    if (may_be_tape(name))
      return Error{ErrorCode::Usage, "which snapshot? write " + shown + "@2, " + shown + "@NAME or " + shown +
                                         "@last ('heaptape snapshots " + shown + "' lists them)"};
  }
  if (tape.path.ends_with(".tape") || is_there(tape.path) || !is_program_name(tape.path)) return Unit{};
  tape.pid = std::move(tape.path);
  tape.path.clear();
  return Unit{};
}

Error no_such_tape(const std::string& path) {
  const std::size_t slash = path.rfind('/') + 1;
  const std::string folder = path.substr(0, slash);
  // What all names end with says nothing about which was meant.
  constexpr std::string_view kSuffix = ".tape";
  const bool stems = path.ends_with(kSuffix);
  const auto cut = [&](const std::string& name) { return stems ? name.substr(0, name.size() - kSuffix.size()) : name; };
  std::vector<std::string> names;
  for (const std::string& name : tapes_in(folder.empty() ? "." : folder)) names.push_back(folder + cut(name));
  std::string meant = near_word(cut(path), names);
  if (!meant.empty() && stems) meant += kSuffix;
  return {ErrorCode::NotFound, "there is no tape '" + printable(path) + "'" +
                                   (meant.empty() ? "; check the name" : "; did you mean '" + printable(meant) + "'?")};
}

Result<> choose_tape(TapeChoice& tape) {
  if (auto parts = split_snapshot(tape.path)) {
    if (!tape.takes_snapshot)
      return Error{ErrorCode::Usage, "this command is not about one snapshot; leave '@" + printable(parts->second) +
                                         "' out: " + printable(parts->first)};
    std::tie(tape.path, tape.snapshot) = std::move(*parts);
  }
  if (const Result<> checked = check_choice(tape); !checked) return checked.error();
  if (tape.pid) {
    Result<std::string> path = flushed_tape_of(*tape.pid);
    if (!path) return path.error();
    tape = {.path = std::move(path).value(), .pid = {}, .is_live = true};
    return Unit{};
  }
  if (!tape.path.empty()) {
    if (!is_there(tape.path) && !split_run(tape.path)) return no_such_tape(tape.path);
    return choose_in_run(tape);
  }
  Result<std::string> newest = newest_tape(".");
  if (!newest) return newest.error();
  tape.path = newest.value();
  const bool run = is_run(tape.path);
  if (!run || !tape.process.empty())
    say(printable(tape.path) + (run ? " (the newest run here)" : " (the newest tape here)"));
  return choose_in_run(tape);
}

Result<TapeReader> open_chosen_tape(TapeChoice& tape) {
  if (const Result<> chosen = choose_tape(tape); !chosen) return chosen.error();
  return TapeReader::open(tape.path);
}

void say_damage(const std::string& path, const TapeDamage& damage, std::uint64_t uncounted_events) {
  if (const std::string sentence = damage_sentence(damage, uncounted_events); !sentence.empty())
    say(path + " is damaged: " + sentence);
}

} // namespace heaptape::cli
