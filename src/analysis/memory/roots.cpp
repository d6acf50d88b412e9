#include "analysis/memory/roots.h"

#include <algorithm>

namespace heaptape {

Roots Roots::of(const RootFacts& facts, const MemoryImage& image, const BlockRanks& ranks, PointerForm form) {
  Roots roots;
  roots.ranges_ = root_ranges(facts, image, ranks);
  TableVector<std::uint8_t> seen(ranks.size());
  struct Place {
    std::uint32_t range;
    std::uint64_t address;
  };
  std::vector<Place> places; // what the tags mean
  WordBatch batch(ranks, form, [&](std::uint64_t tag, std::uint32_t block, std::uint64_t offset) {
    const Place place = places[tag];
    const bool weak = heaptape::is_weak(roots.ranges_[place.range].kind);
    const auto bit = static_cast<std::uint8_t>(1u << (unsigned{weak} * 2 + unsigned{offset != 0}));
    if ((seen[block] & bit) != 0) return;
    seen[block] |= bit;
    const auto inside = static_cast<std::uint32_t>(std::min<std::uint64_t>(offset, ~std::uint32_t{}));
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
