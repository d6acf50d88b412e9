#include "collector/observe/resident_pages.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <string_view>
#include <utility>

#include "collector/observe/page_scan.h"
#include "collector/rings/tick_clock.h"

namespace heaptape {

namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kGrantNs = 20 * kMs;
constexpr std::uint64_t kShare = 100;
// What one call to the kernel may find, and how far it may look for it: some 30 us when all of it is there, and less than a millisecond
// when nothing is, but was once.
constexpr std::uint64_t kPagesPerScan = 2048;
constexpr std::size_t kRegions = 512;
constexpr std::uint64_t kWindow = 1024 * kMiB;
constexpr std::uint64_t kTableWindow = 16 * kMiB;
constexpr std::uint64_t kMostRuns = std::uint64_t{1} << 19; // they fit into one chunk
// Of the table: 16 GiB of address space. What is beyond it is not looked at.
constexpr std::uint64_t kMostPages = std::uint64_t{4} << 20;

constexpr std::uint64_t kTablePresent = std::uint64_t{1} << 63, kTableOfFile = std::uint64_t{1} << 61;

// On a busy machine we may be kept waiting for long, which costs the program nothing.
std::uint64_t cpu_time_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

// The kernel's own pages are there, but not counted as resident.
bool is_kernels(std::string_view name) { return name.starts_with("[v"); }

} // namespace

bool ResidencyPace::due(std::uint64_t now_ns, std::uint64_t rss_bytes) {
  if (start_ns_ == 0) start_ns_ = now_ns;
  const bool stopped = rss_bytes <= last_rss_;
  last_rss_ = rss_bytes;
  const std::uint64_t margin =
      stopped ? std::max(kMiB / 4, highest_looked_ / 100) : std::max(kMiB, highest_looked_ / 20);
  if (rss_bytes < highest_looked_ + margin) return false;
  const std::uint64_t expected =
      highest_looked_ == 0 ? 0 : last_cost_ns_ / (highest_looked_ / kMapUnit + 1) * (rss_bytes / kMapUnit + 1);
  return spent_ns_ + expected <= kGrantNs + (now_ns - start_ns_) / kShare;
}

bool ResidencyPace::is_news(std::uint64_t rss_bytes) const {
  return rss_bytes >= highest_looked_ + std::max(kMiB / 4, highest_looked_ / 100);
}

void ResidencyPace::looked(std::uint64_t cost_ns, std::uint64_t rss_bytes) {
  spent_ns_ += cost_ns;
  last_cost_ns_ = cost_ns;
  highest_looked_ = std::max(highest_looked_, rss_bytes);
}

ResidentPages::ResidentPages(pid_t pid, Means means)
    : file_(::open(("/proc/" + std::to_string(pid) + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC)), means_(means) {}

void ResidentPages::begin(const std::vector<MappedRange>& ranges, const MapNames& names) {
  cost_ns_ = 0;
  parts_.clear();
  look_ = {};
  look_.whole = true;
  pages_left_ = kMostPages;
  if (!file_) return;
  for (const MappedRange& range : ranges) {
    if (is_kernels(names[range.name])) continue;
    // Its part of the table is as long as any, though nobody may have touched it.
    if (means_ == Means::Table && (range.permissions & (kMapRead | kMapWrite | kMapExecute)) == 0) continue;
    parts_.push_back({range.begin, range.end});
  }
  std::reverse(parts_.begin(), parts_.end());
  looking_ = true;
}

std::optional<ResidentPages::Look> ResidentPages::go_on(std::uint64_t most_ns) {
  if (!looking_) return std::nullopt;
  const std::uint64_t begin_ns = monotonic_ns(), cpu_begin_ns = cpu_time_ns();
  bool good = true;
  do {
    if (parts_.empty()) break;
    good = step();
  } while (good && monotonic_ns() - begin_ns < most_ns);
  cost_ns_ += cpu_time_ns() - cpu_begin_ns;
  if (good && !parts_.empty()) return std::nullopt;
  looking_ = false;
  parts_.clear();
  Look look = std::exchange(look_, {});
  if (!good || look.runs.empty()) return std::nullopt;
  return look;
}

// The next call to the kernel.
bool ResidentPages::step() {
  Part& next = parts_.back();
  const std::uint64_t window = means_ == Means::Scan ? kWindow : kTableWindow;
  const Part part{next.begin, std::min(next.end, next.begin + window)};
  std::uint64_t until = part.end;
  if (means_ == Means::Scan && !scan(part, until)) {
    if (errno != ENOTTY && errno != EINVAL) return false;
    means_ = Means::Table;
    return true;
  }
  if (means_ == Means::Table && !read_table(part)) return false;
  next.begin = until;
  if (next.begin == next.end) parts_.pop_back();
  if (look_.runs.size() < kMostRuns && pages_left_ != 0) return true;
  parts_.clear();
  look_.whole = false;
  return true;
}

// Pages of the zero page are not counted as resident by the kernel either. `until`: how far it came.
bool ResidentPages::scan(Part part, std::uint64_t& until) {
  std::array<PageRegion, kRegions> regions{};
  const PageQuery query{
      .all_of = kPagePresent | kPageZero, .inverted = kPageZero, .wanted = kPageOfFile, .most_pages = kPagesPerScan};
  const long found = scan_pages(file_.get(), part.begin, part.end, query, regions, until);
  if (found < 0) return false;
  for (const PageRegion& region : std::span(regions).first(static_cast<std::size_t>(found)))
    add(region.begin, region.end, (region.categories & kPageOfFile) != 0);
  return true;
}

bool ResidentPages::read_table(Part part) {
  buffer_.resize(kTableWindow / kMapUnit);
  const std::size_t count = std::min<std::uint64_t>((part.end - part.begin) / kMapUnit, pages_left_);
  const ssize_t size = ::pread(file_.get(), buffer_.data(), count * sizeof(std::uint64_t),
                               static_cast<off_t>(part.begin / kMapUnit * sizeof(std::uint64_t)));
  if (size < 0 || static_cast<std::size_t>(size) != count * sizeof(std::uint64_t)) return false;
  pages_left_ -= count;
  for (std::size_t i = 0; i < count; ++i) {
    if ((buffer_[i] & kTablePresent) == 0) continue;
    const std::uint64_t begin = part.begin + i * kMapUnit;
    add(begin, begin + kMapUnit, (buffer_[i] & kTableOfFile) != 0);
  }
  return true;
}

void ResidentPages::add(std::uint64_t begin, std::uint64_t end, bool of_file) {
  std::vector<ResidentRun>& runs = look_.runs;
  if (!runs.empty() && runs.back().end == begin && runs.back().of_file == of_file)
    runs.back().end = end;
  else
    runs.push_back({begin, end, of_file});
}

} // namespace heaptape
