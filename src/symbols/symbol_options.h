// What the files of a program are, and where their symbols may be looked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace heaptape {

struct SymbolOptions {
  // Searched for .build-id/ab/cdef.debug and for what .gnu_debuglink names, the first folder first. Relative to
  // `sysroot` when that is set and they are absolute.
  std::vector<std::string> debug_dirs{"/usr/lib/debug"};
  // Folder that holds the files of the machine where the program ran; empty: it ran here.
  std::string sysroot{};
  // Ask the servers in $DEBUGINFOD_URLS for debug files that are not here. Without that variable nothing is asked or
  // loaded.
  bool debuginfod = true;
  // Called now and then while a large file is read: addresses named so far, of how many.
  std::function<void(std::string_view path, std::size_t done, std::size_t total)> progress{};
};

// One file that was mapped into the program.
struct ModuleFile {
  std::string path;                     // as the program knew it; "[vdso]" or "linux-vdso.so.1" is the kernel's
  std::vector<std::uint8_t> build_id{}; // empty: not known, and then nothing can be checked
  int fd = -1; // an open file to read instead of `path`, e.g. of a deleted one; stays the caller's
};

} // namespace heaptape
