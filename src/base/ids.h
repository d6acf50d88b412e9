// Ids that cannot be swapped for one another or for a plain number by accident.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace heaptape {

template <class Tag>
struct Id {
  std::uint32_t value = 0;

  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t number) : value(number) {}
  friend constexpr auto operator<=>(Id, Id) = default;
};

// A call stack on a tape: the number of its innermost frame's node. 0 is "no stack".
using StackId = Id<struct StackTag>;
// A thread on a tape, numbered from 1 in order of appearance. 0 is "unknown".
using ThreadId = Id<struct ThreadTag>;

} // namespace heaptape

template <class Tag>
struct std::hash<heaptape::Id<Tag>> {
  std::size_t operator()(heaptape::Id<Tag> id) const noexcept { return std::hash<std::uint32_t>{}(id.value); }
};
