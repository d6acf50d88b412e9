// What the events of a tape say about many blocks, each at a moment of its own: who made and released it, who had its memory before, and
// which live blocks lie beside it. One pass over the events answers all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "analysis/moment/tenant.h"
#include "tape/reader.h"

namespace heaptape {

struct BlockQuestion {
  std::uint64_t address = 0; // in the block
  std::uint64_t size = 0;    // of the block, as far as it is known: behind it the next one is looked for
  std::uint64_t event = 0;   // the moment: after this event
};

struct BlockSurroundings {
  // Of the blocks that covered the address up to the moment the last ones, latest first: the first of them may be live.
  std::vector<Tenant> owners{};
  // The nearest live blocks that begin in front of the latest owner and behind it (without one: of the address), if they are within
  // kNearbyBytes or larger than that.
  std::optional<Tenant> before{}, behind{};
};
inline constexpr std::size_t kMostOwners = 4;
inline constexpr std::uint64_t kNearbyBytes = std::uint64_t{8} << 10;

// In the order of the questions. Events up to the last moment are read, none where there is no question. `should_stop` is asked now and
// then; when it says so, what was not reached has no answer.
std::vector<BlockSurroundings> block_surroundings(const TapeReader& tape, std::span<const BlockQuestion> questions,
                                                  const std::function<bool()>& should_stop = {});

} // namespace heaptape
