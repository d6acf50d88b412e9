// The files of the program's modules, held open: a library may be deleted or replaced while the program runs, and its
// symbols are wanted at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "tape/contents.h"

namespace heaptape {

// Not a device, which might wait for something.
UniqueFd open_regular_file(const std::string& path);

class ModuleFiles {
public:
  // What the program runs; opened before it began, for it may delete itself.
  void hold_executable(const std::string& path, UniqueFd fd) {
    executable_path_ = path;
    executable_ = std::move(fd);
  }
  // Opens the module's file, unless it is open already, cannot be had, or there are too many.
  void hold(const Module& module);

  // The open file of a module, -1 when there is none. It stays ours.
  int fd_of(const std::string& path, const std::vector<std::uint8_t>& build_id) const;

private:
  static constexpr std::size_t kMost = 400; // a process may have 1024 descriptors by default
  std::string executable_path_;
  UniqueFd executable_;
  std::map<std::pair<std::string, std::vector<std::uint8_t>>, UniqueFd> files_;
};

} // namespace heaptape
