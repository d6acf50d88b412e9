#include "collector/observe/recorder_memory.h"

#include <algorithm>
#include <cstdint>

namespace heaptape {

namespace {

struct Piece {
  std::uint64_t begin, end;
};

// By address, not overlapping.
std::vector<Piece> pieces_of(const wire::Header& header) {
  constexpr std::uint64_t kHighest = std::uint64_t{1} << 56;
  std::vector<Piece> told;
  for (const wire::OwnMemory& own : header.own_memory) {
    const std::uint64_t begin = own.begin.load(std::memory_order_acquire); // pairs with tell() in the recorder
    const std::uint64_t bytes = own.bytes.load(std::memory_order_relaxed);
    if (begin == 0 || begin % kMapUnit != 0 || begin >= kHighest || bytes == 0 || bytes >= kHighest) continue;
    told.push_back({begin, begin + (bytes + kMapUnit - 1) / kMapUnit * kMapUnit});
  }
  std::sort(told.begin(), told.end(), [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  std::vector<Piece> pieces;
  for (const Piece& piece : told)
    if (pieces.empty() || piece.begin >= pieces.back().end) pieces.push_back(piece);
  return pieces;
}

} // namespace

void name_recorder_memory(std::vector<MappedRange>& ranges, MapNames& names, const wire::Header& header) {
  const std::vector<Piece> pieces = pieces_of(header);
  if (pieces.empty()) return;
  std::vector<MappedRange> named;
  named.reserve(ranges.size() + 2 * pieces.size());
  auto piece = pieces.begin();
  for (MappedRange range : ranges) {
    while (piece != pieces.end() && piece->end <= range.begin) ++piece;
    const bool may_be = range.name == 0 && (range.permissions & kMapShared) == 0;
    for (auto own = piece; may_be && own != pieces.end() && own->begin < range.end; ++own) {
      MappedRange before = range, inside = range;
      before.end = inside.begin = std::max(range.begin, own->begin);
      inside.end = std::min(range.end, own->end);
      inside.name = names.number_of("[anon:heaptape]");
      if (before.begin < before.end) named.push_back(before);
      named.push_back(inside);
      range.begin = inside.end;
    }
    if (range.begin < range.end) named.push_back(range);
  }
  ranges = std::move(named);
}

} // namespace heaptape
