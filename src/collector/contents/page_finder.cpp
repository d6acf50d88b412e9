#include "collector/contents/page_finder.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "collector/contents/stopped_process.h"

namespace heaptape {

namespace {

constexpr std::uint64_t kSmallMapping = std::uint64_t{16} << 20; // may be watched, however little of it is in use
constexpr std::uint64_t kSparse = 8;                             // others if at least this part of them is

UniqueFd open_pagemap(pid_t pid) {
  return UniqueFd(::open(("/proc/" + std::to_string(pid) + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC));
}

} // namespace

std::uint64_t pages_of(std::span<const PageRange> ranges) {
  std::uint64_t bytes = 0;
  for (const PageRange& range : ranges) bytes += range.end - range.begin;
  return bytes / kPageBytes;
}

PageFinder::PageFinder(pid_t pid, const MapNames& names, SnapshotPages& pages, RepeatedCalls& calls)
    : pid_(pid), names_(names), pages_(pages), calls_(calls), pagemap_(open_pagemap(living_thread(pid))) {}

void PageFinder::begin_anew() {
  constants_.clear();
  watched_.clear();
  tracker_.reset(); // closing it ends the protection: all pages count as changed
  tried_tracker_ = false;
}

// The mappings of a program that has executed another one are gone, and their table is empty.
bool PageFinder::is_there() const {
  std::uint64_t entry = 0;
  return ::pread(pagemap_.get(), &entry, sizeof entry, 0) == sizeof entry;
}

bool PageFinder::can_watch() {
  if (tracker_ || std::exchange(tried_tracker_, true)) return tracker_.has_value();
  Result<StoppedProcess> stopped = StoppedProcess::stop_one_thread(pid_, calls_);
  if (stopped) tracker_ = PageTracker::make(living_thread(pid_), stopped.value());
  return tracker_.has_value();
}

// Pages of a private mapping that hold something.
std::vector<PageRange> PageFinder::touched(const PlannedRegion& region) {
  // Its pages are the kernel's: there, though the program has never been to them.
  if (names_[region.range.name] == "[vdso]") return {region.addresses()};
  std::vector<PageRange> pages;
  // A file that is gone cannot be asked later: all of its pages count.
  const bool of_file = region.treatment == Treatment::Anonymous && region.range.name != 0;
  if (touched_pages(pagemap_.get(), region.addresses(), of_file, pages)) return pages;
  pages.clear();
  pages_.refuse(region.range.begin); // too large to look for what it holds
  return pages;
}

void PageFinder::add_touched(const PlannedRegion& region, std::vector<PageRange>& pages) {
  pages_.forget(region.addresses());
  const std::vector<PageRange> found = touched(region);
  pages.insert(pages.end(), found.begin(), found.end());
}

std::vector<PageRange> PageFinder::all_touched(std::span<const PlannedRegion> plan, std::span<const PageRange> but) {
  std::vector<PageRange> pages;
  for (const PlannedRegion& region : plan) {
    if (region.is_private() && !overlaps(but, region.addresses())) add_touched(region, pages);
  }
  return pages;
}

std::vector<PageRange> PageFinder::touched_in(std::span<const PlannedRegion> plan, std::span<const PageRange> these) {
  std::vector<PageRange> pages;
  for (const PlannedRegion& region : plan) {
    if (region.is_private() && overlaps(these, region.addresses())) add_touched(region, pages);
  }
  return pages;
}

std::vector<PageRange> PageFinder::all_touched_of_twin(pid_t twin, std::span<const PlannedRegion> plan,
                                                       std::span<const PageRange> but) {
  UniqueFd own = std::exchange(pagemap_, open_pagemap(twin));
  std::vector<PageRange> pages = all_touched(plan, but);
  pagemap_ = std::move(own);
  return pages;
}

std::vector<PageRange> PageFinder::shared(std::span<const PlannedRegion> plan) {
  std::vector<PageRange> pages;
  std::uint64_t left = kMostSharedBytes / kPageBytes;
  for (const PlannedRegion& region : plan) {
    if (region.treatment != Treatment::Shared) continue;
    pages_.forget(region.addresses());
    std::vector<PageRange> found;
    if (!touched_pages(pagemap_.get(), region.addresses(), true, found) || pages_of(found) > left) continue;
    left -= pages_of(found);
    pages.insert(pages.end(), found.begin(), found.end());
  }
  return pages;
}

bool PageFinder::is_known_constant(PageRange mapping) {
  const auto [known, is_new] = constants_.try_emplace(mapping.begin, mapping.end);
  return !is_new && std::exchange(known->second, mapping.end) == mapping.end;
}

// To protect a mapping, the kernel makes page tables for all of it: of a reservation of terabytes more than there is memory. A mapping of which
// little is in use is therefore not watched.
bool PageFinder::may_watch(PageRange mapping, std::span<const PageRange> touched) {
  const std::uint64_t bytes = mapping.end - mapping.begin;
  return bytes <= kSmallMapping || pages_of(touched) * kPageBytes >= bytes / kSparse;
}

std::vector<PageRange> PageFinder::take_changed(std::span<const PlannedRegion> plan, bool stands_still) {
  std::vector<PageRange> pages;
  for (const PlannedRegion& region : plan) {
    if (!region.is_private()) continue;
    const PageRange mapping = region.addresses();
    // What the program may not write to was written by the loader, long ago, and is not watched: libraries are many.
    const bool is_constant = region.treatment == Treatment::File && (region.range.permissions & kMapWrite) == 0;
    if (is_constant && is_known_constant(mapping)) continue;
    const auto watched = watched_.find(mapping.begin);
    const bool is_watched = !is_constant && watched != watched_.end() && watched->second == mapping.end;
    std::vector<PageRange> found;
    if (is_watched && tracker_->take_changed(mapping, found)) {
      pages.insert(pages.end(), found.begin(), found.end());
      continue;
    }
    if (!is_constant) watched_.erase(mapping.begin);
    found = touched(region);
    if (!is_constant && !may_watch(mapping, found) && !stands_still) continue;
    if (!is_constant && may_watch(mapping, found) && tracker_->watch(mapping)) {
      std::vector<PageRange> protects;
      (void)tracker_->take_changed(mapping, protects);
      watched_[mapping.begin] = mapping.end;
      found = touched(region); // what came before it was protected is among these
    }
    pages_.forget(mapping);
    pages.insert(pages.end(), found.begin(), found.end());
  }
  return pages;
}

} // namespace heaptape
