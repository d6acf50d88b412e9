// What the checks are to do, as the program's environment says: HEAPTAPE_CHECK=MODE[,NAME=VALUE]...
#pragma once

#include <cstdint>

namespace heaptape::recorder {

// Where a guarded block lies on its pages: an access behind its end is a fault where it lies right, one before its begin where it lies left.
enum class GuardSide : std::uint8_t { Right, Left, Random };
enum class OnError : std::uint8_t { Report, Stop, Abort };

struct CheckOptions {
  bool on = false;
  bool full = false;                                          // look at every byte, keep released memory for long
  bool fail = false;                                          // some allocations fail on purpose (failing.h)
  bool fill = true;                                           // what malloc gives is filled, too
  std::uint8_t released_byte = 0xbd;                          // what released memory is filled with (stomp=)
  std::uint8_t fresh_byte = 0xbe;                             // what memory is filled with that malloc gives (fill=)
  bool guard = false;                                         // blocks on pages of their own (mode guard)
  GuardSide guard_side = GuardSide::Right;                    // (side=)
  std::uint64_t guard_from = 0, guard_to = ~std::uint64_t{0}; // sizes of the blocks that are guarded (from=, to=)
  std::uint64_t guard_alignment =
      16; // of guarded blocks, where the program asks for none; a smaller one leaves less slack (align=)
  std::uint32_t sample_every =
      0; // one in N allocations is guarded, nothing else is checked (mode sample, every=); 0: not this mode
  OnError on_error = OnError::Report; // (on-error=)
  std::uint64_t sweep_bytes = 0;      // a thread looks at all blocks when it has released so much (sweep=); 0: never
  std::uint64_t quarantine_bytes = 0; // (quarantine=); 0: it follows the heap
};
extern constinit CheckOptions g_check;

// False: the text says nothing that we know.
[[nodiscard]] bool read_check_options(const char* text, CheckOptions& options) noexcept;

} // namespace heaptape::recorder
