#include "analysis/heap/owner_table.h"

#include <utility>

#include "base/check.h"

namespace heaptape {

std::uint32_t OwnerTable::add(std::size_t at, std::uint64_t key, Owner owner) {
  HT_CHECK(owners_.size() < ~std::uint32_t{0});
  const auto number = static_cast<std::uint32_t>(owners_.size());
  owners_.push_back(owner);
  known_[at] = {key, number};
  if (2 * owners_.size() > known_.size()) grow();
  return number;
}

void OwnerTable::grow() {
  const std::vector<Known> old = std::exchange(known_, std::vector<Known>(2 * known_.size()));
  for (const Known& known : old) {
    if (known.key == 0) continue;
    std::size_t at = home(known.key);
    while (known_[at].key != 0) at = (at + 1) & (known_.size() - 1);
    known_[at] = known;
  }
}

} // namespace heaptape
