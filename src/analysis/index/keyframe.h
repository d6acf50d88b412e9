// The whole state of the heap as bytes, as docs/tape-format.md defines them: one part or, when there are very many live blocks,
// several.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "analysis/heap/heap_state.h"
#include "analysis/index/index_codec.h"
#include "tape/reader.h"

namespace heaptape {

class KeyframeCodec {
public:
  // Calls add(payload) for every part, the first one first. Needs 16 bytes of memory for each live block.
  static Result<> put(const HeapState& state, const AddPart& add);

  // The parts in the order in which put() gave them. Takes hostile bytes; false when they make no sense, and then the state is
  // of no use. There will be no more than `most_blocks` in all, if that is known.
  static bool parse_first(std::span<const std::byte> payload, HeapState& state, std::uint64_t most_blocks = 0);
  static bool parse_next(std::span<const std::byte> payload, HeapState& state);
  // When all were parsed: whether the blocks are as many as the totals say.
  static bool complete(const HeapState& state);

private:
  static bool parse_blocks(ByteReader& bytes, HeapState& state, std::uint64_t most_blocks);
};

// Reads a keyframe of this tape; false when it is damaged, and then the state is of no use.
bool load_keyframe(const TapeReader& tape, const Keyframe& keyframe, HeapState& state);

} // namespace heaptape
