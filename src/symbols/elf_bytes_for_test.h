// Builds small ELF files in memory: named sections, one executable segment.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_cursor.h"

namespace heaptape::test {

using Bytes = std::vector<std::byte>;

inline Bytes bytes_of(std::string_view text) {
  const auto all = std::as_bytes(std::span(text.data(), text.size()));
  return {all.begin(), all.end()};
}

struct SectionSketch {
  std::string name;
  Bytes contents;
  std::uint32_t type = SHT_PROGBITS;
  std::uint64_t flags = 0, address = 0;
};

inline Bytes elf_with(const std::vector<SectionSketch>& sections) {
  Bytes file(sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr));
  std::string names(1, '\0');
  std::vector<Elf64_Shdr> headers(1);
  Elf64_Phdr code{};
  const auto add = [&](const SectionSketch& section) {
    Elf64_Shdr header{};
    header.sh_name = static_cast<Elf64_Word>(names.size());
    names += section.name + '\0';
    header.sh_type = section.type;
    header.sh_flags = section.flags;
    header.sh_addr = section.address;
    header.sh_offset = file.size();
    header.sh_size = section.contents.size();
    file.insert(file.end(), section.contents.begin(), section.contents.end());
    if ((section.flags & SHF_EXECINSTR) != 0)
      code = {PT_LOAD,         PF_R | PF_X,    header.sh_offset, section.address,
              section.address, header.sh_size, header.sh_size,   1};
    headers.push_back(header);
  };
  for (const SectionSketch& section : sections) add(section);
  names += ".names";
  add({.name = "", .contents = bytes_of(names + '\0'), .type = SHT_STRTAB});
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof code;
  header.e_phnum = 1;
  header.e_shoff = file.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(headers.size());
  header.e_shstrndx = static_cast<Elf64_Half>(headers.size() - 1);
  const auto table = std::as_bytes(std::span(headers));
  file.insert(file.end(), table.begin(), table.end());
  std::memcpy(file.data(), &header, sizeof header);
  std::memcpy(file.data() + sizeof header, &code, sizeof code);
  return file;
}

} // namespace heaptape::test
