#include "tape/event_columns.h"

#include <algorithm>

namespace heaptape {

bool EventColumns::unpack(const format::EventChunkHead& head, std::span<const std::byte> stored) {
  for (std::size_t i = 0; i < format::kEventColumns; ++i) {
    const auto& sizes = head.columns[i];
    if (sizes.stored_bytes > stored.size()) return false;
    const auto packed = stored.first(sizes.stored_bytes);
    stored = stored.subspan(sizes.stored_bytes);
    auto& column = columns_[i];
    column.resize(sizes.raw_bytes + padding_);
    const auto raw = std::span(column).first(sizes.raw_bytes);
    if (sizes.stored_bytes == sizes.raw_bytes) {
      std::copy(packed.begin(), packed.end(), raw.begin());
    } else {
      if (!decompressor_.fill(packed, raw)) return false;
    }
    std::fill(raw.end(), std::span(column).end(), std::byte{0});
  }
  return stored.empty();
}

} // namespace heaptape
