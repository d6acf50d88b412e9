// Stacks that are deeper than is kept (--max-depth): of those only the innermost frames count, and a recursion without end
// makes one after the other. Each has lost the outermost frame of the one before and has a new innermost one:
//
//      max_depth = 4        cache, outermost first          number of
//      malloc at depth 6    f1 f2[f3 f4 f5 f6]              f3 f4 f5 f6, hung on "too deep"
//      malloc at depth 7    f1 f2 f3[f4 f5 f6 f7]           f4 f5 f6 f7
//
// So the cache takes in frames beyond the limit too, which spares the unwinding, and beside each frame a sum over all frames
// up to it, from which the hash of any run of frames follows by one subtraction. When the cache is full, its outermost frames
// are dropped: it is *cut* then, and says nothing about stacks that end inside of what is left.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/core/readable.h"
#include "recorder/core/thread_state.h"

namespace heaptape::recorder {

// How many frames to unwind of a stack that has turned out to be too deep. More than are kept, if the thread's last stacks
// were so too: then the cache serves it on its way back as well.
[[nodiscard]] std::size_t frames_to_unwind(const ThreadState& thread) noexcept;

// The number of a stack that is too deep: the cache's first `kept` frames, then the fresh ones. If the thread's last stacks
// were too deep as well, the cache takes the fresh frames in; otherwise it stays as it is. `root` as for add_frames.
[[nodiscard]] std::uint32_t number_too_deep(ThreadState& thread, std::size_t kept, std::size_t fresh,
                                            std::uint64_t root, const Range& range) noexcept;

} // namespace heaptape::recorder
