// Finds the pages of a program that are to be copied: all that hold something of its own, or, of mappings that are watched, only those that it has
// changed since the last look. One thread at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/unique_fd.h"
#include "collector/contents/memory_plan.h"
#include "collector/contents/page_tracker.h"
#include "collector/contents/repeated_calls.h"
#include "collector/contents/snapshot_pages.h"

namespace heaptape {

std::uint64_t pages_of(std::span<const PageRange> ranges);

class PageFinder {
public:
  // All must outlive it. Of a mapping that is searched anew, what `pages` knew of it is forgotten.
  PageFinder(pid_t pid, const MapNames& names, SnapshotPages& pages, RepeatedCalls& calls);

  void begin_anew();
  // Of the program that was there at first: no other was executed in its place.
  bool is_there() const;
  // Whether it is, or can be, told what changes. Stops a thread of the program at the first call.
  bool can_watch();
  bool watches() const { return tracker_.has_value(); }

  // Of all private mappings but these.
  std::vector<PageRange> all_touched(std::span<const PlannedRegion> plan, std::span<const PageRange> but = {});
  // Of private mappings that have a byte of these.
  std::vector<PageRange> touched_in(std::span<const PlannedRegion> plan, std::span<const PageRange> these);
  // Like all_touched(), of a twin of the program.
  std::vector<PageRange> all_touched_of_twin(pid_t twin, std::span<const PlannedRegion> plan,
                                             std::span<const PageRange> but);
  // Of shared mappings, as many as may be copied while the program stands still.
  std::vector<PageRange> shared(std::span<const PlannedRegion> plan);
  static constexpr std::uint64_t kMostSharedBytes = std::uint64_t{64} << 20;

  // Pages that the program has changed since the last call, all of what is new, and, if it stands still, all of what is not watched. What can be
  // watched is from now on.
  std::vector<PageRange> take_changed(std::span<const PlannedRegion> plan, bool stands_still);

private:
  std::vector<PageRange> touched(const PlannedRegion& region);
  void add_touched(const PlannedRegion& region, std::vector<PageRange>& pages);
  static bool may_watch(PageRange mapping, std::span<const PageRange> touched);
  bool is_known_constant(PageRange mapping); // it was there at an earlier call

  pid_t pid_;
  const MapNames& names_;
  SnapshotPages& pages_;
  RepeatedCalls& calls_;
  UniqueFd pagemap_;
  std::optional<PageTracker> tracker_;
  bool tried_tracker_ = false;
  std::map<std::uint64_t, std::uint64_t> constants_; // mappings that were read once for all: begin and end
  std::map<std::uint64_t, std::uint64_t> watched_;   // mappings that the tracker watches: begin and end
};

} // namespace heaptape
