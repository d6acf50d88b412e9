// What the kernel says of pages through the ioctl PAGEMAP_SCAN on /proc/PID/pagemap, of Linux 6.7 and later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace heaptape {

// As in <linux/fs.h>, which may be younger than the headers here.
struct PageRegion {
  std::uint64_t begin, end, categories;
};

enum PageCategory : std::uint64_t {
  kPageWritten = 1 << 1, // since it was protected last; of memory under userfaultfd only
  kPageOfFile = 1 << 2,  // of a file or of shared memory
  kPagePresent = 1 << 3,
  kPageSwapped = 1 << 4,
  kPageZero = 1 << 5, // the kernel's page of zeros
};

struct PageQuery {
  std::uint64_t all_of = 0;     // each of these,
  std::uint64_t inverted = 0;   // or not, where it is among these too;
  std::uint64_t any_of = 0;     // and one of these; 0: no matter
  std::uint64_t wanted = 0;     // categories to report; pages that differ in them come in separate regions
  std::uint64_t most_pages = 0; // 0: no limit
  bool protect = false;         // those that are found; fails with EPERM where a mapping is not under userfaultfd
};

// Fills `regions` with pages of [begin, end) that fit, in order. Gives how many regions there are, or -1 with errno; `until` is how far it
// came. Call it again from there.
long scan_pages(int pagemap_fd, std::uint64_t begin, std::uint64_t end, const PageQuery& query,
                std::span<PageRegion> regions, std::uint64_t& until);

} // namespace heaptape
