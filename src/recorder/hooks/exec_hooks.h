// Becoming another program, and starting one.
#pragma once

namespace heaptape::recorder {

// Programs that this process starts are followed: the recorder, whose entry in LD_PRELOAD is `library`, is passed on to all that can
// take it in. `library` is kept. Without this call the hooks only look after the limits (limit_hooks.h).
void follow_programs(const char* library) noexcept;

} // namespace heaptape::recorder
