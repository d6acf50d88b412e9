#include "analysis/memory/roots.h"

#include <algorithm>
#include <unordered_set>

namespace heaptape {

Roots Roots::of(const RootFacts& facts, const MemoryImage& image, const BlockRanks& ranks, PointerForm form) {
  Roots roots;
  roots.ranges_ = root_ranges(facts, image, ranks);
  TableVector<std::uint8_t> seen(ranks.size());
  std::unordered_set<std::uint64_t> seen_inside;                     // block, place
  constexpr std::uint8_t kStart = 1, kOnePlace = 2, kMostPlaces = 8; // in `seen`
  std::unordered_set<std::uint64_t> seen_weak;                       // block, range; few words lie on stacks
  struct Place {
    std::uint32_t range;
    std::uint64_t address;
  };
  std::vector<Place> places; // what the tags mean
  WordBatch batch(ranks, form, [&](std::uint64_t tag, std::uint32_t block, std::uint64_t offset) {
    const Place place = places[tag];
    const bool to_start = offset == 0;
    const auto inside = static_cast<std::uint32_t>(std::min<std::uint64_t>(offset, ~std::uint32_t{}));
    if (heaptape::is_weak(roots.ranges_[place.range].kind)) {
      if (!seen_weak.insert(std::uint64_t{block} << 32 | std::uint64_t{place.range} << 1 | to_start).second) return;
    } else if (to_start) {
      if ((seen[block] & kStart) != 0) return;
      seen[block] |= kStart;
    } else {
      if (seen[block] >= kMostPlaces * kOnePlace) return;
      if (!seen_inside.insert(std::uint64_t{block} << 32 | inside).second) return;
      seen[block] = static_cast<std::uint8_t>(seen[block] + kOnePlace);
    }
    roots.words_.push_back({place.address, block, inside, place.range});
  });
  const bool plain = form == PointerForm();
  for_each_root_word(roots.ranges_, facts.threads, image, ranks,
                     [&](std::uint32_t range, std::uint64_t address, std::uint64_t word) {
                       if (!ranks.maybe(word) && (plain || !ranks.maybe(form.address(word)))) return;
                       if (places.size() == 4096) {
                         batch.drain();
                         places.clear();
                       }
                       places.push_back({range, address});
                       batch.look(word, places.size() - 1);
                     });
  batch.drain();
  return roots;
}

} // namespace heaptape
