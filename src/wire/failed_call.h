// The address field of a FailedCall record: which call, with what error, and the part of the size that the size field has no room for. Sizes
// that no machine has are the ones that fail.
//
//   bits 0..7    the call (EventKind)
//   bits 8..23   size, bits 48..63
//   bits 24..31  errno, as far as it fits; 0: not known
#pragma once

#include <cstdint>

#include "wire/event_kind.h"

namespace heaptape::wire {

constexpr std::uint64_t failed_call_field(EventKind call, std::uint64_t size, int error) {
  return static_cast<std::uint8_t>(call) | (size >> 48) << 8 | (static_cast<std::uint64_t>(error) & 0xff) << 24;
}
constexpr std::uint64_t failed_size_field(std::uint64_t size) { return size & 0xffff'ffff'ffff; }

// What the two fields of a record said. The call may be any number.
struct FailedCallFields {
  EventKind call;
  std::uint64_t size;
  std::uint32_t error;
};
constexpr FailedCallFields failed_call_of(std::uint64_t address_field, std::uint64_t size_field) {
  return {static_cast<EventKind>(address_field & 0xff), size_field | (address_field >> 8 & 0xffff) << 48,
          static_cast<std::uint32_t>(address_field >> 24 & 0xff)};
}

} // namespace heaptape::wire
