#include "analysis/heap/owner_table.h"

#include <utility>

#include "base/check.h"

namespace heaptape {

std::uint32_t OwnerTable::add(std::size_t at, std::uint64_t key, Owner owner) {
  HT_CHECK(owners_.size() < ~std::uint32_t{0});
  const auto number = static_cast<std::uint32_t>(owners_.size());
  owners_.push_back(owner);
  places_[at] = {key, number};
  if (2 * owners_.size() > places_.size()) grow();
  return number;
}

void OwnerTable::grow() {
  const std::vector<Place> old = std::exchange(places_, std::vector<Place>(2 * places_.size()));
  for (const Place& place : old) {
    if (place.key == 0) continue;
    std::size_t at = home(place.key);
    while (places_[at].key != 0) at = (at + 1) & (places_.size() - 1);
    places_[at] = place;
  }
}

} // namespace heaptape
