#include "symbols/debug_image.h"

#include <algorithm>
#include <utility>

namespace heaptape {

DebugImage::DebugImage(MappedFile file) : file_(std::move(file)) {
  auto parsed = ElfImage::parse(file_.bytes());
  if (parsed)
    elf_ = std::move(parsed).value();
  else
    error_ = parsed.error().sentence;
}

ByteSpan DebugImage::section(const std::string& name) {
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) { return kept.name == name; });
  if (found != kept_.end()) return found->bytes.view();
  return kept_.emplace_back(Kept{name, elf_.contents(name)}).bytes.view();
}

dwarf::Sections DebugImage::dwarf_sections(const std::string& suffix) {
  return {.info = section(".debug_info" + suffix),
          .abbrev = section(".debug_abbrev" + suffix),
          .line = section(".debug_line" + suffix),
          .line_str = section(".debug_line_str" + suffix),
          .str = section(".debug_str" + suffix),
          .str_offsets = section(".debug_str_offsets" + suffix),
          .addr = section(".debug_addr"),
          .ranges = section(".debug_ranges"),
          .rnglists = section(".debug_rnglists" + suffix)};
}

} // namespace heaptape
