// The suppressions that a program brings along for LeakSanitizer: the text that its function
// __lsan_default_suppressions() returns.
#pragma once

#include <optional>
#include <string>

#include "symbols/elf_image.h"
#include "symbols/symbolizer.h"
#include "tape/reader.h"

namespace heaptape {

// The program is not run: the function is read, and must do nothing but return a string literal, as they do. nullopt:
// there is none, or it does more, or the program's file is not here any more.
std::optional<std::string> default_suppressions(const TapeReader& tape, const SymbolOptions& options = {});

// The same for the bytes of an ELF file.
std::optional<std::string> default_suppressions_of(const ElfImage& program);

} // namespace heaptape
