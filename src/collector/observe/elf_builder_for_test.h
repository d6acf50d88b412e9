// Makes small ELF executables in memory for tests: headers, an interpreter, a dynamic section and symbol tables, no
// code.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace heaptape {

struct ElfSketch {
  enum class Hash { Gnu, Sysv };

  std::uint16_t machine = EM_X86_64;
  std::string interpreter = "/lib64/ld-linux-x86-64.so.2";
  std::string soname{};
  std::vector<std::string> needed{"libc.so.6"};
  std::vector<std::string> exported{};       // defined, in .dynsym
  std::vector<std::string> imported{};       // undefined, in .dynsym
  std::vector<std::string> static_symbols{}; // defined functions, in .symtab
  Hash hash = Hash::Gnu;
  bool note_of_go = false; // in place of the interpreter
};

class ElfBuilder {
public:
  explicit ElfBuilder(const ElfSketch& sketch) {
    bytes_.resize(sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr));
    const std::uint64_t interpreter = append(sketch.interpreter.c_str(), sketch.interpreter.size() + 1);
    std::string strings(1, '\0');
    std::vector<Elf64_Dyn> dynamic;
    for (const std::string& library : sketch.needed) dynamic.push_back({DT_NEEDED, {intern(strings, library)}});
    if (!sketch.soname.empty()) dynamic.push_back({DT_SONAME, {intern(strings, sketch.soname)}});

    std::vector<Elf64_Sym> symbols(1);
    for (const std::string& name : sketch.imported) symbols.push_back(symbol(intern(strings, name), SHN_UNDEF));
    const auto first_defined = static_cast<std::uint32_t>(symbols.size());
    for (const std::string& name : sketch.exported) symbols.push_back(symbol(intern(strings, name), 1));
    // The loader finds these by address; the one segment is mapped at its file offset.
    dynamic.push_back({DT_STRTAB, {append(strings.data(), strings.size())}});
    dynamic.push_back({DT_SYMTAB, {append(symbols.data(), symbols.size() * sizeof(Elf64_Sym))}});
    const std::vector<std::uint32_t> hash =
        sketch.hash == ElfSketch::Hash::Gnu ? gnu_hash(sketch, first_defined) : sysv_hash(symbols.size());
    dynamic.push_back({sketch.hash == ElfSketch::Hash::Gnu ? DT_GNU_HASH : DT_HASH,
                       {append(hash.data(), hash.size() * sizeof hash[0])}});
    dynamic.push_back({DT_NULL, {0}});
    const std::uint64_t dynamic_size = dynamic.size() * sizeof(Elf64_Dyn);
    const std::uint64_t dynamic_at = append(dynamic.data(), dynamic_size);
    const std::uint64_t sections = append_static_symbols(sketch.static_symbols);

    Elf64_Phdr segments[3] = {};
    segments[0] = {PT_LOAD, PF_R, 0, 0, 0, bytes_.size(), bytes_.size(), 4096};
    segments[1] = {PT_DYNAMIC, PF_R, dynamic_at, dynamic_at, 0, dynamic_size, dynamic_size, 8};
    segments[2] = {PT_INTERP, PF_R, interpreter, interpreter, 0, sketch.interpreter.size() + 1, 0, 1};
    if (sketch.note_of_go) {
      const std::uint32_t note[] = {4, 4, 4, 'G' | 'o' << 8, 0};
      segments[2] = {PT_NOTE, PF_R, append(note, sizeof note), 0, 0, sizeof note, 0, 4};
    }
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_DYN;
    header.e_machine = sketch.machine;
    header.e_phoff = sizeof header;
    header.e_phnum = sketch.interpreter.empty() && !sketch.note_of_go ? 2 : 3;
    header.e_shoff = sections;
    header.e_shnum = 3;
    std::memcpy(bytes_.data(), &header, sizeof header);
    std::memcpy(bytes_.data() + sizeof header, segments, sizeof segments);
  }

  std::vector<std::byte>& bytes() { return bytes_; }

private:
  static std::uint64_t intern(std::string& strings, const std::string& text) {
    const std::uint64_t at = strings.size();
    strings += text;
    strings += '\0';
    return at;
  }

  static Elf64_Sym symbol(std::uint64_t name, std::uint16_t section) {
    Elf64_Sym made{};
    made.st_name = static_cast<Elf64_Word>(name);
    made.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    made.st_shndx = section;
    return made;
  }

  std::uint64_t append(const void* data, std::size_t size) {
    bytes_.resize((bytes_.size() + 7) / 8 * 8);
    const std::uint64_t at = bytes_.size();
    bytes_.resize(at + size);
    if (size != 0) std::memcpy(bytes_.data() + at, data, size);
    return at;
  }

  // One bucket, so every defined symbol is in one chain.
  static std::vector<std::uint32_t> gnu_hash(const ElfSketch& sketch, std::uint32_t first_defined) {
    std::vector<std::uint32_t> words{1, first_defined, 1, 0, ~0U, ~0U, sketch.exported.empty() ? 0 : first_defined};
    for (std::size_t i = 0; i < sketch.exported.size(); ++i) {
      std::uint32_t hash = 5381;
      for (const char c : sketch.exported[i]) hash = hash * 33 + static_cast<unsigned char>(c);
      words.push_back(i + 1 == sketch.exported.size() ? hash | 1 : hash & ~1U);
    }
    return words;
  }

  static std::vector<std::uint32_t> sysv_hash(std::size_t symbols) {
    std::vector<std::uint32_t> words{1, static_cast<std::uint32_t>(symbols), symbols > 1 ? 1U : 0U, 0};
    for (std::uint32_t next = 2; next <= symbols; ++next) words.push_back(next < symbols ? next : 0);
    return words;
  }

  std::uint64_t append_static_symbols(const std::vector<std::string>& names) {
    std::string strings(1, '\0');
    std::vector<Elf64_Sym> symbols(1);
    for (const std::string& name : names) symbols.push_back(symbol(intern(strings, name), 1));
    Elf64_Shdr sections[3] = {};
    sections[1].sh_type = SHT_SYMTAB;
    sections[1].sh_link = 2;
    sections[1].sh_size = symbols.size() * sizeof(Elf64_Sym);
    sections[1].sh_offset = append(symbols.data(), sections[1].sh_size);
    sections[2].sh_type = SHT_STRTAB;
    sections[2].sh_size = strings.size();
    sections[2].sh_offset = append(strings.data(), strings.size());
    return append(sections, sizeof sections);
  }

  std::vector<std::byte> bytes_;
};

inline std::vector<std::byte> make_elf(const ElfSketch& sketch) { return std::move(ElfBuilder(sketch).bytes()); }

} // namespace heaptape
