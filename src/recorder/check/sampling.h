// One in N allocations gets a guarded block; all others are the business of the allocator behind us. Cheap enough for every day: an
// allocation that is not sampled costs a subtraction, a release a comparison. At least half a millisecond lies between two samples, however
// much a program allocates. Only sampled blocks are on the tape.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/check/behind.h"
#include "wire/memory_error.h"

namespace heaptape::recorder {

// With g_check.sample_every set. False: there is no memory.
[[nodiscard]] bool start_sampling(const AllocatorBehind& behind) noexcept;

void* sampled_malloc(std::size_t size) noexcept;
void* sampled_calloc(std::size_t count, std::size_t size) noexcept;
void* sampled_realloc(void* block, std::size_t size) noexcept;
void sampled_free(void* block) noexcept;
std::size_t sampled_usable_size(void* block) noexcept;

// A fault at this address: what it is, if a guarded block is there or beside it, whose pages are then opened, so that the program can go on.
// False: it is none of ours.
[[nodiscard]] bool explain_fault(std::uint64_t address, bool writes, wire::MemoryError& error) noexcept;

} // namespace heaptape::recorder
