// What is kept of a captured stack, so that the next capture can compare instead of unwinding: see capture.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/core/readable.h"
#include "recorder/core/thread_state.h"

namespace heaptape::recorder {

// Puts the fresh frames [first, fresh), innermost first in the array, inside the cache's frames.
// `root` says why the outermost frame is the outermost (wire/stack_roots.h), 0 when the stack simply ends there.
void add_frames(ThreadState& thread, std::size_t first, std::size_t fresh, std::uint64_t root,
                const Range& range) noexcept;

// The number of the stack whose innermost frame is the cache's `index`. Most stacks were seen before, and are found without their
// callers' numbers. The outermost frame's is always known.
[[nodiscard]] std::uint32_t number_of(StackCache& cache, std::size_t index) noexcept;

// The number of the stack that the fresh frames make inside the cache's frame `join`. The cache stays as it is; the way is
// remembered, if it is short enough.
[[nodiscard]] std::uint32_t add_path(ThreadState& thread, std::size_t fresh, std::size_t join, const Frame& site,
                                     std::uint32_t generation) noexcept;

// What the outermost frame of a stack that is too deep hangs on, as a hash.
[[nodiscard]] std::uint64_t too_deep_root_hash() noexcept;

// Interns the innermost frames that fit: the cache's first `kept`, then the fresh ones. The cache stays as it is.
[[nodiscard]] std::uint32_t intern_too_deep(ThreadState& thread, std::size_t kept, std::size_t fresh) noexcept;

} // namespace heaptape::recorder
