#include "collector/contents/page_tracker.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <string>

#include "collector/observe/page_scan.h"

namespace heaptape {

namespace {

// As in the headers of Linux 6.7.
constexpr std::uint64_t kUserModeOnly = 1;
constexpr std::uint64_t kFeatureUnpopulated = std::uint64_t{1} << 13, kFeatureAsynchronous = std::uint64_t{1} << 15;
// The kernel keeps the program from changing its mappings during one call, so none looks far where there are pages. Of a reservation of
// terabytes it passes over what was never touched by the gigabyte.
constexpr std::uint64_t kWindow = std::uint64_t{64} << 20, kLargestWindow = std::uint64_t{64} << 30;
constexpr std::size_t kRegions = 512;

UniqueFd open_pagemap(pid_t pid) {
  return UniqueFd(::open(("/proc/" + std::to_string(pid) + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC));
}

void add(std::vector<PageRange>& pages, PageRange next) {
  if (!pages.empty() && pages.back().end == next.begin)
    pages.back().end = next.end;
  else
    pages.push_back(next);
}

// All pages that fit; false with errno when the kernel refuses.
bool scan_mapping(int pagemap_fd, PageRange mapping, const PageQuery& query, std::vector<PageRange>& pages) {
  std::array<PageRegion, kRegions> regions;
  std::uint64_t window = kWindow;
  for (std::uint64_t at = mapping.begin; at < mapping.end;) {
    const std::uint64_t end = std::min(mapping.end, at + window);
    std::uint64_t until = end;
    const long found = scan_pages(pagemap_fd, at, end, query, regions, until);
    if (found < 0 || until <= at) return false;
    for (const PageRegion& region : std::span(regions).first(static_cast<std::size_t>(found)))
      add(pages, {region.begin, region.end});
    at = until;
    window = found == 0 ? std::min(window * 2, kLargestWindow) : kWindow;
  }
  return true;
}

} // namespace

std::optional<PageTracker> PageTracker::make(pid_t pid, StoppedProcess& stopped) {
  const long there = stopped.call(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | kUserModeOnly);
  if (there < 0) return std::nullopt;
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  UniqueFd userfault(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), there, 0)));
  stopped.call(SYS_close, static_cast<std::uint64_t>(there));
  UniqueFd pagemap = open_pagemap(pid);
  if (!userfault || !pagemap) return std::nullopt;
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = kFeatureUnpopulated | kFeatureAsynchronous;
  if (::ioctl(userfault.get(), UFFDIO_API, &api) != 0) return std::nullopt;
  return PageTracker(std::move(userfault), std::move(pagemap));
}

bool PageTracker::watch(PageRange mapping) {
  uffdio_register request{};
  request.range = {mapping.begin, mapping.end - mapping.begin};
  request.mode = UFFDIO_REGISTER_MODE_WP;
  return ::ioctl(userfault_.get(), UFFDIO_REGISTER, &request) == 0;
}

// Asked for this category and no other, the kernel is fifty times quicker.
bool PageTracker::take_changed(PageRange mapping, std::vector<PageRange>& pages) {
  const PageQuery query{.all_of = kPageWritten, .wanted = kPageWritten, .protect = true};
  return scan_mapping(pagemap_.get(), mapping, query, pages);
}

namespace {

constexpr std::uint64_t kTablePresent = std::uint64_t{1} << 63, kTableSwapped = std::uint64_t{1} << 62;
constexpr std::uint64_t kTableOfFile = std::uint64_t{1} << 61;
constexpr std::uint64_t kMostByTable = std::uint64_t{64} << 30; // its table is 128 MiB

// The same from the file /proc/PID/pagemap, which has eight bytes for every page, there or not.
bool read_table(int pagemap_fd, PageRange mapping, bool of_file, std::vector<PageRange>& pages) {
  if (mapping.end - mapping.begin > kMostByTable) return false;
  std::vector<std::uint64_t> entries(8192);
  for (std::uint64_t at = mapping.begin; at < mapping.end;) {
    const std::uint64_t count = std::min<std::uint64_t>(entries.size(), (mapping.end - at) / kPageBytes);
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(std::uint64_t);
    const auto place = static_cast<off_t>(at / kPageBytes * sizeof(std::uint64_t));
    if (::pread(pagemap_fd, entries.data(), bytes, place) != static_cast<ssize_t>(bytes)) return false;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t entry = entries[static_cast<std::size_t>(i)];
      if ((entry & (kTablePresent | kTableSwapped)) == 0 || (!of_file && (entry & kTableOfFile) != 0)) continue;
      add(pages, {at + i * kPageBytes, at + (i + 1) * kPageBytes});
    }
    at += count * kPageBytes;
  }
  return true;
}

} // namespace

bool touched_pages(int pagemap_fd, PageRange mapping, bool of_file, std::vector<PageRange>& pages) {
  std::uint64_t without = kPageZero;
  if (!of_file) without |= kPageOfFile;
  const PageQuery query{.all_of = without, .inverted = without, .any_of = kPagePresent | kPageSwapped};
  std::vector<PageRange> found;
  bool known = scan_mapping(pagemap_fd, mapping, query, found);
  if (!known) {
    found.clear();
    known = read_table(pagemap_fd, mapping, of_file, found);
  }
  if (known) pages.insert(pages.end(), found.begin(), found.end());
  return known;
}

} // namespace heaptape
