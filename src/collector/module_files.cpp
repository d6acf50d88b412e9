#include "collector/module_files.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace heaptape {

void ModuleFiles::hold(const Module& module) {
  if (module.path.empty() || module.path.front() != '/' || files_.size() >= kMost) return;
  const auto [place, added] = files_.try_emplace({module.path, module.build_id});
  if (!added) return;
  UniqueFd fd(::open(module.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat facts {};
  if (fd && ::fstat(fd.get(), &facts) == 0 && S_ISREG(facts.st_mode)) place->second = std::move(fd);
}

int ModuleFiles::fd_of(const std::string& path, const std::vector<std::uint8_t>& build_id) const {
  const auto found = files_.find({path, build_id});
  return found != files_.end() && found->second ? found->second.get() : -1;
}

} // namespace heaptape
