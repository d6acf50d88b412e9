#include "collector/observe/module_files.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace heaptape {

UniqueFd open_regular_file(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat facts {};
  return fd && ::fstat(fd.get(), &facts) == 0 && S_ISREG(facts.st_mode) ? std::move(fd) : UniqueFd();
}

void ModuleFiles::hold(const Module& module) {
  if (module.path.empty() || module.path.front() != '/' || files_.size() >= kMost) return;
  const auto [place, added] = files_.try_emplace({module.path, module.build_id});
  if (!added) return;
  place->second = open_regular_file(module.path);
}

int ModuleFiles::fd_of(const std::string& path, const std::vector<std::uint8_t>& build_id) const {
  if (path == executable_path_ && executable_) return executable_.get();
  const auto found = files_.find({path, build_id});
  return found != files_.end() && found->second ? found->second.get() : -1;
}

} // namespace heaptape
