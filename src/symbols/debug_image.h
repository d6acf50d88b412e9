// A file with debug information, open: its bytes, its ELF structure and its DWARF sections, decompressed where needed.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "symbols/dwarf_unit.h"
#include "symbols/elf_image.h"
#include "symbols/finder.h"

namespace heaptape {

// Stays where it is: others point into it.
class DebugImage {
public:
  // What is no ELF file gives an image without sections, and error() says why.
  explicit DebugImage(MappedFile file);
  DebugImage(const DebugImage&) = delete;
  DebugImage& operator=(const DebugImage&) = delete;

  const std::string& path() const { return file_.path(); }
  const ElfImage& elf() const { return elf_; }
  const std::string& error() const { return error_; } // empty: none

  // A section's contents, kept as long as the image; decompressed at the first call.
  ByteSpan section(const std::string& name);
  // The DWARF sections; `suffix` is ".dwo" for split files.
  dwarf::Sections dwarf_sections(const std::string& suffix = "");

private:
  struct Kept {
    std::string name;
    SectionBytes bytes;
  };

  MappedFile file_;
  ElfImage elf_;
  std::string error_;
  std::deque<Kept> kept_;
};

} // namespace heaptape
