#include "cli/beside/recorder_library.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

namespace heaptape::cli {
namespace {

// From the folder of the binary to the recorder: installed (see HEAPTAPE_RECORDER_FROM_BIN in CMakeLists.txt), in the
// build tree, or just beside it.
constexpr std::array<std::string_view, 3> kPlaces{HEAPTAPE_RECORDER_FROM_BIN "/libheaptape.so", "../lib/libheaptape.so",
                                                  "libheaptape.so"};

std::string absolute(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr), std::free);
  return resolved ? std::string(resolved.get()) : std::string();
}

Result<std::string> fit_for_preload(const std::string& path) {
  if (path.find_first_of(": \t\n") == path.npos) return path;
  return Error{ErrorCode::Unsupported, "the path '" + path +
                                           "' cannot be preloaded: LD_PRELOAD cannot hold colons or blanks; "
                                           "move heaptape to a folder without them"};
}

} // namespace

Result<std::string> own_path() {
  char path[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  if (size > 0) return std::string(path, static_cast<std::size_t>(size));
  const int reason = errno;
  // Without /proc: as it was started.
  const auto* started = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  if (started != nullptr) {
    if (std::string found = absolute(started); !found.empty()) return found;
  }
  return Error{ErrorCode::Io, std::string("cannot read /proc/self/exe: ") + std::strerror(reason)};
}

Result<std::string> find_recorder_library(const std::string& binary, const char* chosen) {
  if (chosen != nullptr && *chosen != 0) {
    const std::string path = absolute(chosen);
    if (!path.empty()) return fit_for_preload(path);
    return Error{ErrorCode::NotFound, std::string("HEAPTAPE_LIBRARY names ") + chosen + ": " + std::strerror(errno)};
  }
  const std::string folder = binary.substr(0, binary.rfind('/') + 1);
  for (const std::string_view place : kPlaces) {
    const std::string path = absolute(folder + std::string(place));
    if (!path.empty()) return fit_for_preload(path);
  }
  return Error{ErrorCode::NotFound, "libheaptape.so is missing: it is neither in " + folder + std::string(kPlaces[0]) +
                                        " nor beside heaptape; install it again, or set HEAPTAPE_LIBRARY to its path"};
}

} // namespace heaptape::cli
