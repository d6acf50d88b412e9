// Where the bytes of stored pages come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tape/memory_snapshot.h"

namespace heaptape {

// Pages that lie together on a tape, unpacked.
struct PageChunk {
  std::uint64_t first = 0;        // number of the first page
  std::vector<std::byte> bytes{}; // kPageBytes each

  std::uint64_t pages() const { return bytes.size() / kPageBytes; }
  bool holds(std::uint64_t page) const { return page >= first && page - first < pages(); }
};

// The pages of a tape by number. Const calls may come from any thread.
class PageSource {
public:
  virtual ~PageSource() = default;
  // One more than the number of the last page on the tape.
  virtual std::uint64_t end() const = 0;
  // Puts the chunk that holds this page into `chunk`, whose memory is used again. False: it is damaged or missing.
  virtual bool unpack(std::uint64_t page, PageChunk& chunk) const = 0;
};

} // namespace heaptape
