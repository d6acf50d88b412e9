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

#include "cli/terminal/console.h"
#include "tape/format.h"

namespace heaptape::cli {
namespace {

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

Result<> choose_tape(std::string& name) {
  if (!name.empty()) return Unit{};
  Result<std::string> newest = newest_tape(".");
  if (!newest) return newest.error();
  name = newest.value();
  say(name + " (the newest tape here)");
  return Unit{};
}

Result<TapeReader> open_chosen_tape(std::string& name) {
  if (const Result<> chosen = choose_tape(name); !chosen) return chosen.error();
  return TapeReader::open(name);
}

} // namespace heaptape::cli
