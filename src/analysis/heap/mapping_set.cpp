#include "analysis/heap/mapping_set.h"

namespace heaptape {

namespace {
constexpr std::uint64_t kPage = 4096;
}

MappingSet::Range MappingSet::pages_of(std::uint64_t address, std::uint64_t size) {
  const std::uint64_t begin = address & ~(kPage - 1);
  const std::uint64_t room = ~(kPage - 1) - begin; // to the last page of all, which is nobody's
  const std::uint64_t offset = address - begin;
  if (size == 0) return {begin, begin};
  if (size > room - (offset < room ? offset : room)) return {begin, begin + room};
  const std::uint64_t end = (begin + offset + size + kPage - 1) & ~(kPage - 1);
  return {begin, end};
}

const MappingPiece* MappingSet::find(std::uint64_t address) const {
  const auto after = pieces_.upper_bound(address);
  if (after == pieces_.begin()) return nullptr;
  const MappingPiece& piece = std::prev(after)->second;
  return address < piece.end ? &piece : nullptr;
}

} // namespace heaptape
