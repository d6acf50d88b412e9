// The program's environment: what it says to us, and how it looked before we were in it. Plain C strings, no allocation.
#pragma once

#include <cstddef>

namespace heaptape::recorder {

// The environment block the kernel gave the process, null-terminated.
char** initial_environment() noexcept;

// The value of `name` in `environment`, or null.
const char* find_variable(char** environment, const char* name) noexcept;

// Takes our traces out of `environment`: the entry for `library` in LD_PRELOAD (and LD_PRELOAD itself when nothing is left),
// and all HEAPTAPE_ variables. With `keep_options` only what names this very process's connection goes.
void restore_environment(char** environment, const char* library, bool keep_options) noexcept;

// A copy of the variables a collector needs, which later changes by the program cannot touch. Null when memory is short.
char** copy_for_collector(char** environment) noexcept;

} // namespace heaptape::recorder
