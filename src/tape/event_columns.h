// The columns of an EVENTS chunk, unpacked. Keeps its memory from chunk to chunk. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "tape/compression.h"
#include "tape/event_chunk.h"

namespace heaptape {

class EventColumns {
public:
  // Zeros behind each column, for readers that check only afterwards whether they went too far.
  explicit EventColumns(std::size_t padding) : padding_(padding) {}

  // Takes the payload behind its head; false when it does not hold exactly the columns that the head promises. The
  // columns are not to be read then.
  bool unpack(const format::EventChunkHead& head, std::span<const std::byte> stored);

  // Without its padding; valid until the next unpack().
  std::span<const std::byte> operator[](std::size_t column) const {
    return std::span(columns_[column]).first(columns_[column].size() - padding_);
  }
  const std::byte* data(std::size_t column) const { return columns_[column].data(); }

private:
  std::size_t padding_;
  std::array<std::vector<std::byte>, format::kEventColumns> columns_;
  Decompressor decompressor_;
};

} // namespace heaptape
