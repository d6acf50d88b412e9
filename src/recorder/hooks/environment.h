// The program's environment: what it says to us, and how it looked before we were in it. Plain C strings, no allocation.
#pragma once

#include <cstddef>

namespace heaptape::recorder {

// The environment block the kernel gave the process, null-terminated.
char** initial_environment() noexcept;

// The value of `name` in `environment`, or null.
const char* find_variable(char** environment, const char* name) noexcept;

// Takes our traces out of `environment`: the entry for `library` in LD_PRELOAD (and LD_PRELOAD itself when nothing is left),
// and all HEAPTAPE_ variables. With `keep_options` only what names this very process's connection goes. Whoever looks for the
// auxiliary vector behind the environment, where the kernel put it, still finds it there.
void restore_environment(char** environment, const char* library, bool keep_options) noexcept;

// Whether `library` stands in the LD_PRELOAD of `environment`, which may be null; then a program started with it is followed.
bool has_recorder(char* const* environment, const char* library) noexcept;

// The environment without the recorder, for a program that cannot take it in, made in memory of the caller's: count_variables() + 1
// words, and as many bytes as LD_PRELOAD's entry takes with its terminator. The other entries are those of `environment`.
std::size_t count_variables(char* const* environment) noexcept;
const char* preload_entry(char* const* environment) noexcept; // "LD_PRELOAD=..."; null: there is none
void copy_without_recorder(char* const* environment, const char* library, char** copy, char* preload) noexcept;

// The environment with the recorder, for a program that goes on being recorded: `environment` (may be null) with `passed` in it, in memory
// of the caller's of the sizes below. The recorder takes all of it out again (restore_environment), without a trace.
struct PassedOn {
  const char* library = nullptr;    // our entry in LD_PRELOAD
  char** options = nullptr;         // of copy_for_collector(): its HEAPTAPE_ variables; may be null
  const char* connection = nullptr; // "HEAPTAPE_SHM_...=..."
  bool keeps_options = false;       // the program is followed: see restore_environment()
};
std::size_t count_with_recorder(char* const* environment, const PassedOn& passed) noexcept; // words, the null included
std::size_t preload_bytes(char* const* environment, const PassedOn& passed) noexcept;
void copy_with_recorder(char* const* environment, const PassedOn& passed, char** copy, char* preload) noexcept;

// A copy of the variables a collector needs, which later changes by the program cannot touch. Null when memory is short.
char** copy_for_collector(char** environment) noexcept;

} // namespace heaptape::recorder
