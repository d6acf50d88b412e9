// Any bytes as a tape: no crash, no endless loop, memory bounded by the input. Once as they are, and once past the
// checksums, so that what lies behind them is reached.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tape/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heaptape;
  const auto bytes = std::as_bytes(std::span(data, size));
  for (const Checksums checksums : {Checksums::Verify, Checksums::Ignore}) {
    const Result<TapeReader> reader = TapeReader::from_bytes(bytes, "fuzz.tape", checksums);
    if (!reader.ok()) continue;
    EventCursor cursor = reader.value().events();
    std::uint64_t sum = 0;
    while (const Event* event = cursor.next()) {
      sum += event->address;
      if (event->stack.value >= reader.value().stacks().size()) __builtin_trap();
    }
    if (checksums == Checksums::Verify) continue;
    EventCursor middle = reader.value().events_from_time(sum % 1000);
    (void)middle.next();
  }
  return 0;
}
