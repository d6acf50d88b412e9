#include "analysis/memory/python_objects.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace heaptape {
namespace {

constexpr std::uint64_t kWord = sizeof(std::uint64_t);

// What CPython puts in front of an object that its collector watches: two links, the last bits of which are flags; then the object
// begins, with the count of references and the type. Since 3.11 two words about attributes may come before the links.
struct CollectorHead {
  std::uint64_t next, previous, count, type;
};
static_assert(sizeof(CollectorHead) == PythonObjects::kLinkBytes + 2 * kWord);
constexpr std::array<std::size_t, 2> kHeadPlaces{0, 2 * kWord};
constexpr std::uint64_t kFlags = 7;

bool looks_like_address(std::uint64_t word) { return word > 4096 && word >> BlockRanks::kAddressBits == 0; }

} // namespace

// Links lead to the same place of other blocks, or to the heads of the lists, which are not in blocks.
bool PythonObjects::is_link(std::uint64_t word) const {
  word &= ~kFlags;
  if (!looks_like_address(word)) return false;
  const std::uint32_t block = ranks_.find(word);
  return block == BlockRanks::kNone ||
         std::find(kHeadPlaces.begin(), kHeadPlaces.end(), word - ranks_.begin(block)) != kHeadPlaces.end();
}

PythonObjects::Watched PythonObjects::watched_in(std::span<const std::byte> block) {
  constexpr std::uint64_t kMostCounted = std::uint64_t{1} << 33;
  for (const std::size_t place : kHeadPlaces) {
    CollectorHead head;
    if (place + sizeof head > block.size()) break;
    std::memcpy(&head, block.data() + place, sizeof head);
    // Other structures in the same program may look alike but for the type.
    const bool is_kept = head.count == 0 && head.next == 0 && head.previous <= kFlags;
    const bool in_use = head.count - 1 < kMostCounted && is_link(head.next) && is_link(head.previous) &&
                        ranks_.find(head.count) == BlockRanks::kNone; // a heap may lie that low
    if ((!is_kept && !in_use) || !looks_like_address(head.type) || !types_.is_type(head.type)) continue;
    Watched found{.links = place, .is_kept = is_kept};
    if (types_.is_weak_reference(head.type)) found.weak = place + sizeof head;
    return found;
  }
  return {};
}

std::uint32_t PythonObjects::references_at(std::uint64_t address) {
  constexpr std::uint32_t kForEver = std::uint32_t{1} << 30;
  const auto count = static_cast<std::uint32_t>(cursor_.word(address).value_or(0)); // flags above since 3.14
  if (count == 0 || count >= kForEver) return 0;
  const std::uint64_t type = cursor_.word(address + kWord).value_or(0);
  return looks_like_address(type) && types_.is_type(type) ? count : 0;
}

bool PythonObjects::are_links(std::uint64_t address) {
  const std::uint32_t block = ranks_.find(address);
  if (block == BlockRanks::kNone) return false;
  std::array<std::byte, kHeadPlaces.back() + sizeof(CollectorHead)> head{};
  const std::uint64_t begin = ranks_.begin(block),
                      size = std::min<std::uint64_t>(ranks_.end(block) - begin, head.size());
  const std::size_t read = cursor_.read(begin, std::span(head).first(size));
  return watched_in(std::span(head).first(read)).links == address - begin;
}

} // namespace heaptape
