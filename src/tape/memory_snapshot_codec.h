// The payloads of SNAPSHOT and PAGES chunks. Private to tape/ and to those that write pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tape/compression.h"
#include "tape/memory_snapshot.h"
#include "tape/tape_parts.h"

namespace heaptape {

// One snapshot, over as many payloads as it takes; it exists when the last one is there. `names` holds the regions' names; those in use
// go with them.
std::vector<std::vector<std::byte>> encode_snapshot(const MemorySnapshot& snapshot, const MapNames& names);

// Puts snapshots together from their payloads, which come in order. Takes hostile bytes.
class SnapshotParser {
public:
  // False: the payload makes no sense, or the snapshot rests on one that is missing.
  bool add(std::span<const std::byte> payload, Snapshots& snapshots);

private:
  std::optional<MemorySnapshot> begun_;
  std::uint64_t parts_ = 0;
};

//   offset  size
//        0     8  number of the first page
//        8     4  count of pages, 1 .. 64
//       12     4  codec: 0 raw, 1 one zstd frame
//       16     8  XXH3-64 of bytes 0..15
//       24        the pages
struct PagesHead {
  std::uint64_t first;
  std::uint32_t count;
  std::uint32_t codec;
  std::uint64_t checksum;
};
static_assert(sizeof(PagesHead) == 24);

// Tells a page from all others.
struct PageHash {
  std::uint64_t low = 0, high = 0;
};
PageHash page_hash(std::span<const std::byte> page);

// A PAGES payload. `pages` is a multiple of kPageBytes, at most kPagesPerChunk of them. Such a chunk is raw to the rest of the tape, so
// that its head can be read alone.
void put_pages(std::uint64_t first, std::span<const std::byte> pages, Compressor& compressor,
               std::vector<std::byte>& out);
// The head, if it is whole, right and sensible. `payload` may be just its beginning.
std::optional<PagesHead> parse_pages_head(std::span<const std::byte> payload, Checksums checksums);
// All pages; nothing when they make no sense.
std::optional<std::vector<std::byte>> parse_pages(std::span<const std::byte> payload, Checksums checksums);

} // namespace heaptape
