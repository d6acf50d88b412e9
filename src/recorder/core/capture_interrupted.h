// The call stack of a thread that a signal interrupted, at any instruction, also in the recorder itself.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "recorder/core/thread_state.h"

namespace heaptape::recorder {

// Its interned number. Called by the signal's handler: shares nothing with a capture that was interrupted but what is made for it. The
// innermost pc is one more than the address that was interrupted, so that it is looked up like a return address.
[[nodiscard]] std::uint32_t capture_interrupted(ThreadState& thread, const ucontext_t& context) noexcept;

} // namespace heaptape::recorder
