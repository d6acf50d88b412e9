// Which parts of a snapshot's memory a core file holds, and where in the file they lie.
//
//   region     | stored | zeros | file's | refused | stored |        one mapping of the program
//   segments   [ contents                ][ nothing ][ contents ]    what follows has no bytes: debuggers say so, and do not show zeros
//
// Pages that are the file's are filled in where the program has changed others of the mapping, as the kernel does it; of a mapping
// that is wholly the file's only the first page is there, from which debuggers know which file it is. They read the rest from that
// file, which the core file names.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tape/maps.h"
#include "tape/memory_snapshot.h"

namespace heaptape {

struct CoreSegment {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t bytes = 0; // from `begin` on are in the file; 0: none
  std::uint8_t permissions = 0;
  bool hole = false; // zeros, of which the file has one piece for all
  friend bool operator==(const CoreSegment&, const CoreSegment&) = default;
};

struct CoreLayout {
  // A reservation of terabytes that was never touched would make a file larger than file systems allow. Zeros from this size on are
  // cut into pieces of it, and all of them are the same piece of the file.
  static constexpr std::uint64_t kHoleBytes = std::uint64_t{64} << 30;

  std::vector<CoreSegment> segments{};                    // by address
  std::array<std::uint64_t, kPageStates> missing_bytes{}; // by PageState: readable to the program, and not in the file
};

// `regions` and `runs` by address. `is_known` says whether the contents of this page, which is a file's, can be read.
CoreLayout lay_out_core(std::span<const MappedRange> regions, std::span<const PageRun> runs,
                        const std::function<bool(std::uint64_t address)>& is_known);

} // namespace heaptape
