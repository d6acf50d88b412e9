#include "collector/observe/run_time_watch.h"

#include <sys/stat.h>

namespace heaptape {

void RunTimeWatch::look(std::uint64_t time_us) {
  if (!program_) return;
  if (!perf_map_.fd) perf_map_.fd = open_perf_map(*program_);
  struct stat facts {};
  std::uint64_t bytes = 0; // a file that is not there yet is as good as empty
  if (perf_map_.fd && ::fstat(perf_map_.fd.get(), &facts) == 0) bytes = static_cast<std::uint64_t>(facts.st_size);
  std::vector<FileGrowth>& growth = perf_map_.growth;
  // Of a size that stays the same, the last time is kept beside the first.
  if (growth.size() >= 2 && growth.back().bytes == bytes && growth[growth.size() - 2].bytes == bytes) {
    growth.back().time_us = time_us;
  } else if (growth.size() < kMostNotes) {
    growth.push_back({time_us, bytes});
  }
}

void RunTimeWatch::look_at_mapped(const MapNames& names) {
  if (!program_ || jit_dump_.fd) return;
  for (; names_seen_ < names.size(); ++names_seen_) {
    const std::string path(names[static_cast<std::uint32_t>(names_seen_)]);
    if (!is_jit_dump_path(path)) continue;
    jit_dump_.fd = open_mapped_jit_dump(*program_, path);
    if (jit_dump_.fd) return;
  }
}

void RunTimeWatch::finish(std::uint64_t time_us) {
  if (!program_) return;
  look(time_us);
  if (!jit_dump_.fd) jit_dump_.fd = open_jit_dump(*program_);
}

} // namespace heaptape
