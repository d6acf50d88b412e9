// Becoming another program, and starting one.
#pragma once

namespace heaptape::recorder {

// The recorder, whose entry in LD_PRELOAD is `library`, is passed on to the program that this process becomes, and with `follow` to all that
// it starts, as far as they can take it in. `library` is kept. Without this call the hooks only look after the limits (limit_hooks.h).
void pass_recorder_on(const char* library, bool follow) noexcept;

} // namespace heaptape::recorder
