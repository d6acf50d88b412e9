// One record on its way from a ring to the tape: a private copy, with the thread it belongs to.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "wire/layout.h"

namespace heaptape {

struct RingItem {
  std::uint64_t word0; // as in wire::Record, phase bit cleared
  std::uint64_t word1;
  std::uint64_t word2;
  std::uint32_t thread; // ThreadId
  std::uint32_t slot;

  std::uint64_t time() const { return word0 >> 8; }
  EventKind kind() const { return static_cast<EventKind>(word0 & wire::kKindMask); }
  std::uint64_t address() const { return word1 & wire::kAddressMask; }
  std::uint64_t size() const { return (word1 >> 48) << 32 | (word2 & 0xffff'ffff); }
  std::uint32_t stack() const { return static_cast<std::uint32_t>(word2 >> 32); }

  // Takes the item out of the stream without moving its neighbours.
  void erase() { word0 &= ~wire::kKindMask; }
};
static_assert(sizeof(RingItem) == 32);

} // namespace heaptape
