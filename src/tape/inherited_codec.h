// The payload of INHERITED chunks. Private to tape/ and to those that append to tapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tape/inherited.h"

namespace heaptape {

// One payload.
void put_forks(std::span<const ForkMade> forks, std::vector<std::byte>& out);

// The blocks by address, and the numbers of the events that released or reallocated some of them, in order; over as many
// payloads as it takes. The figures come last, so that they vouch for all of them.
std::vector<std::vector<std::byte>> encode_inheritance(const Inheritance& figures,
                                                       std::span<const InheritedBlock> blocks,
                                                       std::span<const std::uint64_t> releases);

// The addresses that the blocks of one chunk cover: [begin, end).
struct InheritedExtent {
  std::uint64_t begin = 0, end = 0;
};
// What one chunk holds besides its blocks. Forks and releases are added; figures replace others.
struct InheritedParts {
  std::vector<ForkMade>& forks;
  std::optional<Inheritance>& figures;
  std::vector<std::uint64_t>& releases;
};
// False: it makes no sense. A chunk of blocks sets `extent`, and leaves the blocks for parse_inherited_blocks().
bool parse_inherited(std::span<const std::byte> payload, InheritedParts parts, std::optional<InheritedExtent>& extent);
// Adds the blocks of one chunk, by address. Those before the first one that makes no sense are added all the same.
bool parse_inherited_blocks(std::span<const std::byte> payload, std::vector<InheritedBlock>& blocks);

} // namespace heaptape
