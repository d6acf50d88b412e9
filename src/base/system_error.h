// The system's words for an errno value, without strerror()'s shared buffer.
#pragma once

#include <string>
#include <system_error>

namespace heaptape {

inline std::string system_message(int error) { return std::generic_category().message(error); }

} // namespace heaptape
