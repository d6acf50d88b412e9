// System calls that our own signal interrupted: the program must not see that.
#pragma once

#include <ucontext.h>

namespace heaptape::recorder {

// To be called by the handler of `signal`, of which the program knows nothing. The kernel repeats most calls by itself (SA_RESTART). Others,
// poll() and sleep() among them, it lets fail with EINTR; a program that handles no signals at all has never seen that and may not be
// ready for it, so for such a program they are begun again.
void repeat_interrupted_call(ucontext_t& context, int signal) noexcept;

} // namespace heaptape::recorder
