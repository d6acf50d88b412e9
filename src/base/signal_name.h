// "SIGSEGV", or "signal 40" for one without a name.
#pragma once

#include <string.h>

#include <string>

namespace heaptape {

inline std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(signal);
}

} // namespace heaptape
