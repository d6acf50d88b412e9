#include "live/live_run_time.h"

#include <sys/stat.h>

#include <utility>

namespace heaptape {

bool LiveRunTime::File::look(UniqueFd found) {
  if (found) fd = std::move(found);
  struct stat facts {};
  if (!fd || ::fstat(fd.get(), &facts) != 0) return false;
  const File before{.fd = {}, .inode = inode, .bytes = bytes, .written_ns = written_ns};
  inode = facts.st_ino;
  bytes = static_cast<std::uint64_t>(facts.st_size);
  written_ns = facts.st_mtim.tv_sec * 1'000'000'000 + facts.st_mtim.tv_nsec;
  return inode != before.inode || bytes != before.bytes || written_ns != before.written_ns;
}

std::map<std::uint64_t, RunTimePlace> LiveRunTime::find(const std::vector<std::uint64_t>& addresses, bool always) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  if (!program_ || addresses.empty() || start < not_before_) return {};
  const bool map_changed = perf_map_.look(open_perf_map(*program_));
  const bool dump_changed = jit_dump_.look(open_jit_dump(*program_));
  if (!map_changed && !dump_changed && !always) return {};
  RunTimeText text;
  if (perf_map_.fd) text.perf_map = read_run_time_file(perf_map_.fd.get(), kMostBytes);
  if (jit_dump_.fd) text.jit_dump = read_run_time_file(jit_dump_.fd.get(), kMostBytes);
  auto places = find_run_time_places(text, addresses);
  // A tenth of the time at most for a file that is large and grows.
  constexpr auto kShort = std::chrono::milliseconds(20);
  const auto end = Clock::now();
  if (end - start > kShort) not_before_ = end + 9 * (end - start);
  return places;
}

} // namespace heaptape
