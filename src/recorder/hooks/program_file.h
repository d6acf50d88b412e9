// Looks at a program before a followed process becomes it, or starts it: would the loader take the recorder in? With another
// loader (musl's) or another word size, a preloaded library that it cannot load is a warning, or the program's end.
//
// Only system calls and a few kilobytes of stack: it runs between vfork and exec, where memory is shared with the parent, and in
// signal handlers.
#pragma once

#include <cstdint>

namespace heaptape::recorder {

enum class ProgramFit : std::uint8_t {
  Fits,    // glibc's loader will be asked
  Static,  // nobody will be asked: what is preloaded does no harm, and reaches its children
  Secure,  // the loader leaves out what is preloaded: the program gains rights
  Foreign, // another loader, another word size, another processor
  Unknown, // it can be executed but not read
  Missing, // not there, or not a program: exec will say what is wrong with it
};

// The file that execve would be given, and the interpreters behind it. `directory` as for openat.
[[nodiscard]] ProgramFit fit_of_file(int directory, const char* path) noexcept;
// The same for an open file, which may have been opened for execution only.
[[nodiscard]] ProgramFit fit_of_descriptor(int fd) noexcept;
// Searches as execvp does; `search_path` is the value of PATH, or null.
[[nodiscard]] ProgramFit fit_of_name(const char* name, const char* search_path) noexcept;

} // namespace heaptape::recorder
