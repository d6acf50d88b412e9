// The parts of an ELF file that symbols come from. Works on bytes that may be hostile: what lies outside of them is
// left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "symbols/section_bytes.h"

namespace heaptape {

struct ElfSection {
  std::string_view name;
  std::uint32_t type = 0; // SHT_*
  std::uint64_t flags = 0;
  std::uint64_t address = 0;
  std::uint64_t size = 0; // in memory
  std::uint32_t link = 0;
  ByteSpan stored{}; // as in the file; empty for what has no bytes there
};

struct AddressRange {
  std::uint64_t start = 0, end = 0;
  friend bool operator==(const AddressRange&, const AddressRange&) = default;
};

// Names a separate debug file, or (dwz) one that several share.
struct DebugLink {
  std::string name;
  std::uint32_t crc = 0; // of the whole file
};
struct AltLink {
  std::string name;
  std::vector<std::uint8_t> build_id;
};

// 64-bit little-endian files only, as are all that heaptape records. Looks into bytes that must outlive it.
class ElfImage {
public:
  // Fails with a word on what is wrong: NotFound when the bytes are not such an ELF file, Malformed when the headers
  // make no sense.
  static Result<ElfImage> parse(ByteSpan file);

  const std::vector<ElfSection>& sections() const { return sections_; }
  const ElfSection* find(std::string_view name) const; // null: there is none
  // The contents, decompressed when they are compressed (SHF_COMPRESSED with zlib or zstd, or the older .zdebug_
  // sections, which are found under the name without the z). Empty when there are none or they make no sense.
  SectionBytes contents(std::string_view name) const;
  bool has(std::string_view name) const; // with contents

  std::vector<std::uint8_t> build_id() const; // empty: it has none
  std::optional<DebugLink> debug_link() const;
  std::optional<AltLink> alt_link() const;

  // Where code is, sorted.
  std::vector<AddressRange> code_ranges() const;
  // `size` bytes of what is loaded at an address; empty when the file does not hold all of them.
  ByteSpan loaded_at(std::uint64_t address, std::size_t size) const;

private:
  struct Segment {
    std::uint32_t type = 0, flags = 0;
    std::uint64_t address = 0;
    std::uint64_t memory_size = 0;
    ByteSpan stored;
  };

  std::vector<ElfSection> sections_;
  std::vector<Segment> segments_;
};

// CRC-32 as .gnu_debuglink has it.
std::uint32_t debug_link_crc(ByteSpan file);

} // namespace heaptape
