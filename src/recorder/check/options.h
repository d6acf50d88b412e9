// What the checks are to do, as the program's environment says: HEAPTAPE_CHECK=MODE[,NAME=VALUE]...
#pragma once

#include <cstdint>

namespace heaptape::recorder {

enum class OnError : std::uint8_t { Report, Stop, Abort };

struct CheckOptions {
  bool on = false;
  bool full = false;                  // look at every byte, keep released memory for long
  bool fill = true;                   // what malloc gives is filled, too
  std::uint8_t released_byte = 0xbd;  // what released memory is filled with (stomp=)
  std::uint8_t fresh_byte = 0xbe;     // what memory is filled with that malloc gives (fill=)
  OnError on_error = OnError::Report; // (on-error=)
  std::uint64_t quarantine_bytes = 0; // (quarantine=); 0: it follows the heap
};
extern constinit CheckOptions g_check;

// False: the text says nothing that we know.
[[nodiscard]] bool read_check_options(const char* text, CheckOptions& options) noexcept;

} // namespace heaptape::recorder
