#include "symbols/elf_image.h"

#include <elf.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "base/byte_cursor.h"
#include "symbols/unpack.h"

namespace heaptape {

namespace {

// Part of `bytes`, empty when it does not lie inside.
ByteSpan part(ByteSpan bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return {};
  return bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

template <class T>
std::optional<T> copy_at(ByteSpan bytes, std::uint64_t offset) {
  const ByteSpan place = part(bytes, offset, sizeof(T));
  if (place.empty()) return std::nullopt;
  T value;
  std::memcpy(&value, place.data(), sizeof value);
  return value;
}

std::string_view text_at(ByteSpan bytes, std::uint64_t offset) {
  if (offset >= bytes.size()) return {};
  const auto* text = reinterpret_cast<const char*>(bytes.data() + offset);
  return {text, ::strnlen(text, bytes.size() - static_cast<std::size_t>(offset))};
}

std::vector<std::uint8_t> build_id_in(ByteSpan notes) {
  ByteReader reader(notes);
  while (reader.remaining() >= sizeof(Elf64_Nhdr)) {
    const std::uint32_t name_size = reader.u32(), value_size = reader.u32(), type = reader.u32();
    const ByteSpan name = reader.bytes((std::uint64_t{name_size} + 3) & ~std::uint64_t{3});
    const ByteSpan value = reader.bytes(value_size);
    if (!reader.ok()) break;
    if (type == NT_GNU_BUILD_ID && name_size == 4 && std::memcmp(name.data(), "GNU", 4) == 0) {
      const auto* first = reinterpret_cast<const std::uint8_t*>(value.data());
      return {first, first + value.size()};
    }
    (void)reader.bytes(-std::uint64_t{value_size} & 3);
  }
  return {};
}

} // namespace

Result<ElfImage> ElfImage::parse(ByteSpan file) {
  const auto header = copy_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return Error{ErrorCode::NotFound, "it is not an ELF file"};
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
    return Error{ErrorCode::NotFound, "it is not a 64-bit little-endian ELF file"};
  ElfImage image;
  for (std::uint64_t i = 0; i < header->e_phnum && header->e_phentsize == sizeof(Elf64_Phdr); ++i) {
    const auto segment = copy_at<Elf64_Phdr>(file, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) break;
    image.segments_.push_back({segment->p_type, segment->p_flags, segment->p_vaddr, segment->p_memsz,
                               part(file, segment->p_offset, segment->p_filesz)});
  }
  if (header->e_shoff == 0) return image;
  if (header->e_shentsize != sizeof(Elf64_Shdr))
    return Error{ErrorCode::Malformed, "its section headers have an odd size"};
  // Files with very many sections keep the numbers in the first section header.
  const auto first = copy_at<Elf64_Shdr>(file, header->e_shoff);
  if (!first) return Error{ErrorCode::Malformed, "its section headers lie past its end; it is cut off"};
  const std::uint64_t count = header->e_shnum != 0 ? header->e_shnum : first->sh_size;
  if (count > file.size() / sizeof(Elf64_Shdr))
    return Error{ErrorCode::Malformed, "it claims more sections than fit into it"};
  const std::uint64_t names_index = header->e_shstrndx != SHN_XINDEX ? header->e_shstrndx : first->sh_link;
  ByteSpan names;
  if (const auto section = copy_at<Elf64_Shdr>(file, header->e_shoff + names_index * sizeof(Elf64_Shdr));
      section && names_index < count)
    names = part(file, section->sh_offset, section->sh_size);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto section = copy_at<Elf64_Shdr>(file, header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return Error{ErrorCode::Malformed, "its section headers lie past its end; it is cut off"};
    ElfSection found{.name = text_at(names, section->sh_name),
                     .type = section->sh_type,
                     .flags = section->sh_flags,
                     .address = section->sh_addr,
                     .size = section->sh_size,
                     .link = section->sh_link};
    if (found.type != SHT_NOBITS) found.stored = part(file, section->sh_offset, section->sh_size);
    image.sections_.push_back(found);
  }
  return image;
}

const ElfSection* ElfImage::find(std::string_view name) const {
  const auto found = std::find_if(sections_.begin(), sections_.end(), [&](const auto& s) { return s.name == name; });
  return found != sections_.end() ? &*found : nullptr;
}

bool ElfImage::has(std::string_view name) const {
  if (const ElfSection* section = find(name); section != nullptr) return !section->stored.empty();
  return name.starts_with(".debug_") && find(".z" + std::string(name.substr(1))) != nullptr;
}

SectionBytes ElfImage::contents(std::string_view name) const {
  if (const ElfSection* section = find(name); section != nullptr) {
    if ((section->flags & SHF_COMPRESSED) == 0) return SectionBytes(section->stored);
    const auto head = copy_at<Elf64_Chdr>(section->stored, 0);
    if (!head) return {};
    const ByteSpan packed = section->stored.subspan(sizeof *head);
    constexpr std::uint32_t kZstd = 2; // ELFCOMPRESS_ZSTD, newer than some <elf.h>
    if (head->ch_type == ELFCOMPRESS_ZLIB) return unpack(Packing::Zlib, packed, head->ch_size);
    if (head->ch_type == kZstd) return unpack(Packing::Zstd, packed, head->ch_size);
    return {};
  }
  if (!name.starts_with(".debug_")) return {};
  const ElfSection* older = find(".z" + std::string(name.substr(1)));
  if (older == nullptr || older->stored.size() < 12 || std::memcmp(older->stored.data(), "ZLIB", 4) != 0) return {};
  std::uint64_t size = 0; // big-endian
  for (const std::byte byte : older->stored.subspan(4, 8)) size = size << 8 | static_cast<std::uint64_t>(byte);
  return unpack(Packing::Zlib, older->stored.subspan(12), size);
}

std::vector<std::uint8_t> ElfImage::build_id() const {
  for (const Segment& segment : segments_) {
    if (segment.type != PT_NOTE) continue;
    if (auto id = build_id_in(segment.stored); !id.empty()) return id;
  }
  // A file of debug information alone may have lost what its segments point to.
  for (const ElfSection& section : sections_) {
    if (section.type != SHT_NOTE) continue;
    if (auto id = build_id_in(section.stored); !id.empty()) return id;
  }
  return {};
}

std::optional<DebugLink> ElfImage::debug_link() const {
  const ElfSection* section = find(".gnu_debuglink");
  if (section == nullptr) return std::nullopt;
  const std::string_view name = text_at(section->stored, 0);
  const auto crc = copy_at<std::uint32_t>(section->stored, (name.size() + 4) & ~std::size_t{3});
  if (name.empty() || !crc) return std::nullopt;
  return DebugLink{std::string(name), *crc};
}

std::optional<AltLink> ElfImage::alt_link() const {
  const ElfSection* section = find(".gnu_debugaltlink");
  if (section == nullptr) return std::nullopt;
  const std::string_view name = text_at(section->stored, 0);
  if (name.empty() || name.size() + 1 >= section->stored.size()) return std::nullopt;
  const auto* first = reinterpret_cast<const std::uint8_t*>(section->stored.data());
  return AltLink{std::string(name), {first + name.size() + 1, first + section->stored.size()}};
}

std::vector<AddressRange> ElfImage::code_ranges() const {
  std::vector<AddressRange> ranges;
  for (const ElfSection& section : sections_) {
    if ((section.flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR))
      ranges.push_back({section.address, section.address + section.size});
  }
  if (ranges.empty()) {
    for (const Segment& segment : segments_) {
      if (segment.type == PT_LOAD && (segment.flags & PF_X) != 0)
        ranges.push_back({segment.address, segment.address + segment.memory_size});
    }
  }
  std::erase_if(ranges, [](const AddressRange& range) { return range.end <= range.start; });
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
  return ranges;
}

ByteSpan ElfImage::loaded_at(std::uint64_t address, std::size_t size) const {
  for (const Segment& segment : segments_) {
    if (segment.type != PT_LOAD || address < segment.address) continue;
    if (const ByteSpan found = part(segment.stored, address - segment.address, size); !found.empty()) return found;
  }
  return {};
}

std::uint32_t debug_link_crc(ByteSpan file) {
  return static_cast<std::uint32_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(file.data()), static_cast<z_size_t>(file.size())));
}

} // namespace heaptape
