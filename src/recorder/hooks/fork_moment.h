// The moment of a fork whose child is recorded too: both tapes name it, so that the child's knows what it inherited.
#pragma once

#include <cstdint>

namespace heaptape::recorder {

// For pthread_atfork(), in the parent just before the fork. Registered early, it runs after the program's own handlers.
void mark_fork() noexcept;

// In the child: CLOCK_MONOTONIC as noted, in ns.
[[nodiscard]] std::uint64_t fork_moment_ns() noexcept;

} // namespace heaptape::recorder
