#include "collector/events/error_collector.h"

#include <algorithm>
#include <cstring>

#include "wire/memory_error.h"

namespace heaptape {

bool ErrorCollector::add(std::string_view text, MemoryError known, const TickClock& clock) {
  wire::MemoryError said{};
  if (text.size() != sizeof said) return false;
  std::memcpy(&said, text.data(), sizeof said);
  const auto sort = static_cast<std::uint8_t>(said.sort), found = static_cast<std::uint8_t>(said.found);
  if (said.sort == ErrorSort::None || sort >= kErrorSorts || found >= kFoundAts) return false;
  if (said.byte_count > wire::kErrorBytes) return false;
  known.sort = said.sort;
  known.found = said.found;
  known.expected = said.expected;
  known.address = said.address;
  known.length = said.length;
  known.block = said.block;
  known.block_size = said.block_size;
  known.given = said.given;
  // Whatever the clocks say, it was whole before it was found damaged, and 0 has a meaning of its own.
  if (said.whole_ticks != 0)
    known.whole_us =
        std::clamp<std::uint64_t>(clock.plain_us(said.whole_ticks), 1, std::max<std::uint64_t>(known.time_us, 1));
  known.bytes.assign(reinterpret_cast<const char*>(said.bytes), said.byte_count);
  known.function.assign(said.function, ::strnlen(said.function, sizeof said.function));
  errors_.add(std::move(known));
  return true;
}

} // namespace heaptape
