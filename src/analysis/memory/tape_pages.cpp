#include "analysis/memory/tape_pages.h"

#include <algorithm>
#include <utility>

namespace heaptape {

std::uint64_t TapePages::end() const {
  const std::vector<PagesChunk>& chunks = tape_.pages_chunks();
  return chunks.empty() ? 0 : chunks.back().first + chunks.back().count;
}

bool TapePages::unpack(std::uint64_t page, PageChunk& chunk) const {
  const std::vector<PagesChunk>& chunks = tape_.pages_chunks();
  const auto behind =
      std::partition_point(chunks.begin(), chunks.end(), [&](const PagesChunk& one) { return one.first <= page; });
  if (behind == chunks.begin() || page - behind[-1].first >= behind[-1].count) return false;
  auto bytes = tape_.read_pages(behind[-1]);
  if (!bytes) return false;
  chunk.first = behind[-1].first;
  chunk.bytes = std::move(*bytes);
  return true;
}

} // namespace heaptape
