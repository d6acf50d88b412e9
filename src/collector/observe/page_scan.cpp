#include "collector/observe/page_scan.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>

#include "tape/maps.h"

namespace heaptape {

namespace {

struct ScanRequest {
  std::uint64_t size, flags, begin, end, walk_end, regions, region_count, most_pages;
  std::uint64_t inverted, all_of, any_of, wanted;
};
static_assert(sizeof(ScanRequest) == 96);
constexpr unsigned long kPagemapScan = _IOWR('f', 16, ScanRequest);
constexpr std::uint64_t kProtectFound = 1, kOnlyWhereProtectable = 2;

} // namespace

long scan_pages(int pagemap_fd, std::uint64_t begin, std::uint64_t end, const PageQuery& query,
                std::span<PageRegion> regions, std::uint64_t& until) {
  ScanRequest request{};
  request.size = sizeof request;
  // Without the second flag the kernel passes over mappings that it cannot protect, and says nothing.
  request.flags = query.protect ? kProtectFound | kOnlyWhereProtectable : 0;
  request.begin = begin;
  request.end = end;
  request.regions = reinterpret_cast<std::uint64_t>(regions.data());
  request.region_count = regions.size();
  request.most_pages = query.most_pages;
  request.inverted = query.inverted;
  request.all_of = query.all_of;
  request.any_of = query.any_of;
  request.wanted = query.wanted;
  const int found = ::ioctl(pagemap_fd, kPagemapScan, &request);
  if (found < 0) return -1;
  const auto count = std::min(static_cast<std::size_t>(found), regions.size());
  std::uint64_t pages = 0, last = begin;
  for (const PageRegion& region : regions.first(count)) {
    if (region.begin < last || region.end > end || region.begin >= region.end) {
      errno = EIO;
      return -1;
    }
    pages += (region.end - region.begin) / kMapUnit;
    last = region.end;
  }
  // walk_end is not to be relied on: when the regions are full it may lie before the last of them (seen with Linux 6.18).
  const bool stopped_early = count == regions.size() || (query.most_pages != 0 && pages >= query.most_pages);
  until = stopped_early ? last : end;
  return static_cast<long>(count);
}

} // namespace heaptape
