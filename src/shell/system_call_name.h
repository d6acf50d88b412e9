// System calls by number.
#pragma once

#include <cstdint>
#include <string>

namespace heaptape {

// "futex"; "system call 999" for those that threads seldom wait in.
std::string system_call_name(std::uint64_t number);

} // namespace heaptape
