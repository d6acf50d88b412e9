// Blocks beyond 128 KiB: each in a run of chunks of its own.
#pragma once

#include <cstdint>

#include "recorder/check/region.h"
#include "recorder/check/small_blocks.h"
#include "wire/memory_error.h"

namespace heaptape::recorder {

// Null: no memory. With `may_grow` there is room behind it, in which a realloc finds place.
[[nodiscard]] char* make_large(const Wish& wish, bool may_grow) noexcept;
// A live block, whose redzones were looked at. It stays in quarantine until others come after it.
void put_large(std::uint32_t run) noexcept;
// Live, and the same block afterwards. False: it does not fit.
[[nodiscard]] bool resize_large(std::uint32_t run, std::uint64_t size) noexcept;

[[nodiscard]] bool are_redzones_whole(const LargeBlock& block, std::uint32_t run) noexcept;
void report_redzones(const LargeBlock& block, std::uint32_t run, FoundAt found) noexcept;

// Runs lie in chunks [first, end).
[[nodiscard]] std::uint32_t first_run() noexcept;
[[nodiscard]] std::uint32_t end_of_runs() noexcept;

void lock_large() noexcept; // around a fork
void unlock_large() noexcept;

} // namespace heaptape::recorder
