// The payloads of SNAPSHOT and PAGES chunks. Private to tape/ and to those that write pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tape/compression.h"
#include "tape/memory_snapshot.h"
#include "tape/page_layout.h"
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
//       12     4  PagesCodec
//       16     8  XXH3-64 of bytes 0..15
//       24        the pages
enum class PagesCodec : std::uint32_t {
  Raw = 0,
  Zstd = 1,     // one frame
  Relative = 2, // likewise, of PageLayout::Relative
  Columns = 3,  // likewise, of PageLayout::Columns
};
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

// Packs pages, with its working memory kept between calls. One thread at a time per object.
struct PagePacker {
  Compressor compressor;
  std::vector<std::byte> laid_out{}, packed{};
  PageLayout layout = PageLayout::AsIs; // of the last chunk
  bool keeps_layout = false;            // for the next one
};

// A PAGES payload, in whichever layout a few of the pages are smallest. `pages` is a multiple of kPageBytes, at most kPagesPerChunk of them. Such a chunk is raw to the rest of the tape, so
// that its head can be read alone.
void put_pages(std::uint64_t first, std::span<const std::byte> pages, PagePacker& packer, std::vector<std::byte>& out);
// The head, if it is whole, right and sensible. `payload` may be just its beginning.
std::optional<PagesHead> parse_pages_head(std::span<const std::byte> payload, Checksums checksums);
// All pages; nothing when they make no sense.
std::optional<std::vector<std::byte>> parse_pages(std::span<const std::byte> payload, Checksums checksums);

} // namespace heaptape
