// Where the program called us: the innermost frame of a captured stack.
#pragma once

#include <cstdint>

namespace heaptape::recorder {

struct Frame {
  std::uint64_t pc;   // return address
  std::uint64_t slot; // the stack address that holds it
  std::uint64_t rbp;  // the caller's RBP
};

} // namespace heaptape::recorder

// The frame that called the function this stands in. The function must keep a frame pointer and must not be inlined.
#define HT_CALL_SITE()                                                                                                 \
  (::heaptape::recorder::Frame{                                                                                        \
      static_cast<const std::uint64_t*>(__builtin_frame_address(0))[1],                                                \
      reinterpret_cast<std::uint64_t>(static_cast<const std::uint64_t*>(__builtin_frame_address(0)) + 1),              \
      static_cast<const std::uint64_t*>(__builtin_frame_address(0))[0]})
