// What an executable's bytes say about itself, as far as recording is concerned. Pure: no files, no process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace heaptape {

struct ElfFacts {
  bool is_64_bit = false;
  std::uint16_t machine = 0; // EM_*
  std::string interpreter;   // the loader asked for (PT_INTERP); empty: none, the program is static or a loader itself
  std::string soname;        // empty for nearly all executables
  std::vector<std::string> needed; // shared libraries, by the name they are asked for
  bool defines_malloc = false;     // so that the whole process uses it, whatever is preloaded
  std::string sanitizer;           // "AddressSanitizer", ...; empty: none. The undefined behaviour one does not count.
  bool is_go = false;              // made by Go's own linker
  std::string allocator;           // "jemalloc", ... when defines_malloc and a known one; else empty
};

// Fails with NotFound when the bytes are no ELF file and with Malformed when they are one that makes no sense. Fields
// of a 32-bit or foreign file beyond the first two are left empty. Reads nothing outside the bytes, whatever they say.
Result<ElfFacts> parse_elf_facts(std::span<const std::byte> file);

// The sanitizer whose runtime is in this library ("libasan.so.8"), or an empty string.
std::string sanitizer_of_library(const std::string& name);

} // namespace heaptape
