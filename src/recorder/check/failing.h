// Allocations that get no memory on purpose: HEAPTAPE_CHECK=fail[,NAME=VALUE]... Stands in front of the allocator that checks.
//
// Those that meet all conditions are counted, from 1, over all threads; the number decides. Not counted: what asks for no bytes or for
// more than there can be, and what comes before the program's own code runs, which is when the loader makes its libraries ready.
#pragma once

#include <cstddef>

namespace heaptape::recorder {

// Reads what is needed of the process.
void start_failing() noexcept;

void* failing_malloc(std::size_t size) noexcept;
void* failing_calloc(std::size_t count, std::size_t size) noexcept;
void* failing_realloc(void* block, std::size_t size) noexcept;
void* failing_memalign(std::size_t alignment, std::size_t size) noexcept;
int failing_posix_memalign(void** block, std::size_t alignment, std::size_t size) noexcept;
void* failing_valloc(std::size_t size) noexcept;
void* failing_pvalloc(std::size_t size) noexcept;

// The thread's last allocation has.
[[nodiscard]] bool failed_on_purpose() noexcept;
// Somebody is about to try the same again on its behalf: that fails, too, and is not counted.
void fail_once_more() noexcept;
// Says on the tape how many were counted.
void tell_failing() noexcept;

} // namespace heaptape::recorder
