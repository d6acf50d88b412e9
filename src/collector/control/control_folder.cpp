#include "collector/control/control_folder.h"

#include <dirent.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/file_kind.h"
#include "base/system_error.h"

namespace heaptape {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value == '/' ? value : "";
}

std::string folder_of(uid_t user) { return "/tmp/heaptape-" + std::to_string(user); }

// Empty: only its user may enter it. Else what is wrong with it.
std::string fault_of(const std::string& folder) {
  struct stat facts {};
  if (::lstat(folder.c_str(), &facts) != 0) return system_message(errno);
  if (!S_ISDIR(facts.st_mode))
    return std::string("it is ") + (S_ISREG(facts.st_mode) ? "a file" : file_kind_text(facts.st_mode));
  if (facts.st_uid != ::geteuid()) return "it belongs to another user";
  if ((facts.st_mode & 077) == 0) return "";
  char mode[8];
  std::snprintf(mode, sizeof mode, "%o", static_cast<unsigned>(facts.st_mode & 0777));
  return "others may enter it (mode " + std::string(mode) + ")";
}

bool is_ours_alone(const std::string& folder) { return fault_of(folder).empty(); }

// The folder, or why it cannot be used.
Result<std::string> make_one(const std::string& folder) {
  const bool made = ::mkdir(folder.c_str(), 0700) == 0;
  const int reason = errno;
  const std::string fault = made || reason == EEXIST ? fault_of(folder) : system_message(reason);
  if (fault.empty()) return folder;
  return Error{ErrorCode::Denied, folder + " cannot hold the sockets of recordings: " + fault +
                                      "; it must be a folder of "
                                      "yours alone (mkdir -m 700)"};
}

template <class Visit>
void each_entry(const std::string& folder, Visit visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
  while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) visit(std::string(entry->d_name));
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

} // namespace

Result<std::string> make_control_folder() {
  if (const char* given = std::getenv("HEAPTAPE_RUNTIME_DIR"); given != nullptr && *given != 0 && *given != '/')
    return Error{ErrorCode::Usage, std::string("HEAPTAPE_RUNTIME_DIR: '") + given + "' is not an absolute path"};
  if (const std::string chosen = variable("HEAPTAPE_RUNTIME_DIR"); !chosen.empty()) {
    Result<std::string> folder = make_one(chosen);
    return folder ? folder : Error{folder.error().code, "HEAPTAPE_RUNTIME_DIR: " + folder.error().sentence};
  }
  // The longest name of a socket in it must fit, too.
  constexpr std::size_t kLongest = sizeof(sockaddr_un::sun_path) - 32;
  if (const std::string runtime = variable("XDG_RUNTIME_DIR"); !runtime.empty() && runtime.size() < kLongest) {
    // The program's environment may be that of another user.
    if (is_ours_alone(runtime)) {
      if (Result<std::string> folder = make_one(runtime + "/heaptape")) return folder;
    }
  }
  return make_one(folder_of(::geteuid()));
}

Result<> check_control_folder() {
  const char* const chosen = std::getenv("HEAPTAPE_RUNTIME_DIR");
  const std::string folder = chosen == nullptr || *chosen == 0 ? folder_of(::geteuid()) : chosen;
  struct stat facts {};
  // Where there is none, there is nothing to find; a collector would make it.
  if (::lstat(folder.c_str(), &facts) != 0) return Unit{};
  if (const Result<std::string> usable = make_control_folder(); !usable) return usable.error();
  return Unit{};
}

std::vector<std::string> control_folders() {
  if (const std::string chosen = variable("HEAPTAPE_RUNTIME_DIR"); !chosen.empty()) return {chosen};
  std::vector<std::string> folders;
  const auto add = [&](const std::string& folder) {
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
  };
  if (const std::string runtime = variable("XDG_RUNTIME_DIR"); !runtime.empty()) add(runtime + "/heaptape");
  add("/run/user/" + std::to_string(::geteuid()) + "/heaptape");
  add(folder_of(::geteuid()));
  if (::geteuid() != 0) return folders;
  each_entry("/run/user", [&](const std::string& name) {
    if (all_digits(name)) add("/run/user/" + name + "/heaptape");
  });
  each_entry("/tmp", [&](const std::string& name) {
    constexpr std::string_view kBegin = "heaptape-";
    if (name.starts_with(kBegin) && all_digits(std::string_view(name).substr(kBegin.size()))) add("/tmp/" + name);
  });
  return folders;
}

std::vector<std::string> control_sockets(pid_t program) {
  std::vector<std::string> paths;
  for (const std::string& folder : control_folders()) {
    each_entry(folder, [&](const std::string& name) {
      const std::size_t dot = name.find('.');
      if (dot == std::string::npos || !all_digits(name.substr(0, dot)) || !all_digits(name.substr(dot + 1))) return;
      if (program == 0 || name.substr(0, dot) == std::to_string(program)) paths.push_back(folder + "/" + name);
    });
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string control_socket_name(pid_t program, pid_t collector) {
  return std::to_string(program) + "." + std::to_string(collector);
}

std::optional<sockaddr_un> socket_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) return std::nullopt;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

} // namespace heaptape
