// The allocator that checks: what it gives has redzones and is filled, what it takes back is looked at and kept for a while.
// It stands in the place of the real functions behind the hooks, from the program's first allocation on.
//
// A call that makes no sense (a block that is released twice, an address that is not a block's) is ignored; the hook has recorded it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/check/behind.h"
#include "wire/memory_error.h"

namespace heaptape::recorder {

// Begins, with g_check set. `behind_is_foreign`: the allocator behind is not libc's, and may give out blocks by functions of its own.
// False: there is no memory.
[[nodiscard]] bool start_checks(const AllocatorBehind& behind, bool behind_is_foreign) noexcept;

void* checked_malloc(std::size_t size) noexcept;
void* checked_calloc(std::size_t count, std::size_t size) noexcept;
void* checked_realloc(void* block, std::size_t size) noexcept;
void checked_free(void* block) noexcept;
void* checked_memalign(std::size_t alignment, std::size_t size) noexcept;
int checked_posix_memalign(void** block, std::size_t alignment, std::size_t size) noexcept;
void* checked_valloc(std::size_t size) noexcept;
void* checked_pvalloc(std::size_t size) noexcept;
std::size_t checked_usable_size(void* block) noexcept;

// By a delete that says this alignment; 0: none.
void checked_delete(void* block, std::size_t alignment) noexcept;

// Once, when libc is ready.
void arrange_checks() noexcept;
// Address space that the checks hold.
[[nodiscard]] std::uint64_t checked_address_space() noexcept;
// The calling thread ends. What it still does goes with borrowed means.
void checked_thread_ends() noexcept;
// The program ends, or the user wants to know.
void check_all_blocks(FoundAt found) noexcept;

} // namespace heaptape::recorder
