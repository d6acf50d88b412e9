// Calls that asked for memory and got none. Rare, so all of it stays out of the way of the calls that get some.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/core/call_site.h"
#include "wire/event_kind.h"

namespace heaptape::recorder {

// `error` is what the call says of it; 0: it is in errno, which is left alone. A request for nothing does not fail. Calls that the C++
// library makes inside a failing operator new are not recorded again.
[[gnu::noinline, gnu::cold]] void record_failed(EventKind call, std::uint64_t size, int error, std::uint64_t pc,
                                                std::uint64_t slot, std::uint64_t rbp) noexcept;

// The size of an array; the largest number there is when it is larger than that.
inline std::uint64_t array_bytes(std::size_t count, std::size_t size) noexcept {
  std::size_t bytes = 0;
  return __builtin_mul_overflow(count, size, &bytes) ? ~std::uint64_t{0} : bytes;
}

// As record_failed(). Until the operator new that was called at this site has returned or thrown, whatever fails inside it belongs to it.
[[gnu::noinline, gnu::cold]] void record_failed_new(EventKind call, std::uint64_t size, const Frame& site) noexcept;

} // namespace heaptape::recorder
