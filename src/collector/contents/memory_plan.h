// Which memory of the program is copied, and how: decided per mapping, from /proc alone.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/contents/page_range.h"
#include "tape/maps.h"
#include "tape/memory_snapshot.h"

namespace heaptape {

enum class Treatment : std::uint8_t {
  Skip,      // the kernel's own
  Anonymous, // pages that were touched are stored, the others are zero
  File,      // pages that the program has changed are stored, the others are the file's
  Shared,    // as many pages as may be copied while the program stands still
  Refused,   // may not be read
  LeftOut,   // is not to be read
};

struct PlannedRegion {
  MappedRange range{};
  Treatment treatment = Treatment::Skip;

  PageRange addresses() const { return {range.begin, range.end}; }
  // What its pages are that are not stored.
  PageState otherwise() const;
  bool is_private() const { return treatment == Treatment::Anonymous || treatment == Treatment::File; }
};

// `left_out`, by address: what the program asked not to have in dumps.
std::vector<PlannedRegion> plan_memory(std::span<const MappedRange> ranges, const MapNames& names,
                                       std::span<const PageRange> left_out);

// Wishes of the program, by address: see madvise(2).
struct MemoryWishes {
  std::vector<PageRange> not_dumped{}; // MADV_DONTDUMP
  std::vector<PageRange> not_forked{}; // MADV_DONTFORK and MADV_WIPEONFORK: a child does not have them
};

// The text of /proc/PID/smaps, in any pieces.
class SmapsText {
public:
  void add(std::string_view text);
  MemoryWishes take() { return std::move(wishes_); }

private:
  void add_line(std::string_view line);

  PageRange current_{};
  MemoryWishes wishes_;
  std::string begun_;
};

} // namespace heaptape
