// What every hook needs. A hook keeps a frame pointer, so that its call site can be read off, and is never inlined.
#pragma once

#include <cstdint>

#include "recorder/core/call_site.h"

#define HT_HOOK extern "C" [[gnu::visibility("default"), gnu::noinline]]

namespace heaptape::recorder {

inline std::uint64_t as_address(const void* pointer) noexcept { return reinterpret_cast<std::uint64_t>(pointer); }

} // namespace heaptape::recorder
