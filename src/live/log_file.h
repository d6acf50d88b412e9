// A log on disk that is kept small: when it has its size, it becomes NAME.1, what was NAME.1 becomes NAME.2, and so on;
// only a few older ones stay. One thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace heaptape {

class LogFile {
public:
  struct Limits {
    std::uint64_t max_bytes = 0; // 0: one file, however large
    std::uint32_t keep = 5;      // older files
  };
  // A file that is there already is moved on like a full one. A device or pipe is written to as it is. A symbolic link to a
  // file is refused: never writes through one.
  static Result<LogFile> create(const std::string& path, const Limits& limits);

  // Writes all of it, or nothing that stays: a disk that is full leaves the file as it was.
  Result<> write(std::string_view text);
  // What the file at hand, and a new one, can take; next() begins a new one.
  std::size_t room() const { return is_limited() ? limits_.max_bytes - std::min(limits_.max_bytes, bytes_) : SIZE_MAX; }
  std::size_t room_in_next() const { return is_limited() ? limits_.max_bytes : SIZE_MAX; }
  Result<> next();
  // Takes the file away again.
  void remove();

  const std::string& path() const { return path_; }
  std::uint64_t bytes() const { return bytes_; }

private:
  LogFile(std::string path, const Limits& limits) : path_(std::move(path)), limits_(limits) {}
  bool is_limited() const { return limits_.max_bytes != 0 && rotates_; }
  void move_older();
  Result<> open();

  std::string path_;
  Limits limits_;
  UniqueFd fd_;
  std::uint64_t bytes_ = 0;
  bool rotates_ = true; // it is a regular file
};

} // namespace heaptape
