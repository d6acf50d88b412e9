#include "collector/observe/elf_facts.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace heaptape {
namespace {

using Bytes = std::span<const std::byte>;

// Symbol tables of debug builds can be huge; looking further than this would delay the program noticeably.
constexpr std::uint64_t kMaxSymbols = 4'000'000;
// A name longer than this is not one of ours.
constexpr std::size_t kMaxName = 4096;

template <class T>
std::optional<T> read_at(Bytes file, std::uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, file.data() + offset, sizeof(T));
  return value;
}

// The NUL-terminated text at `offset`; empty when it is not inside the file.
std::string_view text_at(Bytes file, std::uint64_t offset) {
  if (offset >= file.size()) return {};
  const char* text = reinterpret_cast<const char*>(file.data()) + offset;
  const std::size_t limit = std::min<std::uint64_t>(file.size() - offset, kMaxName);
  const void* end = std::memchr(text, 0, limit);
  if (end == nullptr) return {};
  return {text, static_cast<std::size_t>(static_cast<const char*>(end) - text)};
}

struct NamedSymbol {
  std::string_view symbol;
  std::string_view means;
};

constexpr std::array kSanitizers{
    NamedSymbol{"__asan_init", "AddressSanitizer"}, NamedSymbol{"__tsan_init", "ThreadSanitizer"},
    NamedSymbol{"__msan_init", "MemorySanitizer"},  NamedSymbol{"__hwasan_init", "HWAddressSanitizer"},
    NamedSymbol{"__lsan_init", "LeakSanitizer"},
};

constexpr std::array kAllocators{
    NamedSymbol{"mallocx", "jemalloc"},
    NamedSymbol{"je_malloc", "jemalloc"},
    NamedSymbol{"je_mallocx", "jemalloc"},
    NamedSymbol{"tc_malloc", "tcmalloc"},
    NamedSymbol{"TCMallocInternalMalloc", "tcmalloc"},
    NamedSymbol{"mi_malloc", "mimalloc"},
    NamedSymbol{"rpmalloc", "rpmalloc"},
};

class ElfFile {
public:
  ElfFile(Bytes file, const Elf64_Ehdr& header) : file_(file), header_(header) {
    for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
      const auto segment = read_at<Elf64_Phdr>(file, header.e_phoff + i * sizeof(Elf64_Phdr));
      if (segment) segments_.push_back(*segment);
    }
  }

  std::string_view interpreter() const {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type == PT_INTERP) return text_at(file_, segment.p_offset);
    }
    return {};
  }

  // Go's linker leaves a note with the build's id: sizes of name and content, type 4, "Go".
  bool has_note_of_go() const {
    struct Note {
      std::uint32_t name_size, size, type;
      char name[4];
    };
    return std::any_of(segments_.begin(), segments_.end(), [&](const Elf64_Phdr& segment) {
      const auto note = segment.p_type == PT_NOTE ? read_at<Note>(file_, segment.p_offset) : std::nullopt;
      return note && note->name_size == sizeof note->name && note->type == 4 && std::memcmp(note->name, "Go\0", 4) == 0;
    });
  }

  // Calls visit(tag, value) for every entry of the dynamic section.
  template <class Visit>
  void each_dynamic(Visit visit) const {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_DYNAMIC) continue;
      for (std::uint64_t at = 0; at < segment.p_filesz; at += sizeof(Elf64_Dyn)) {
        const auto entry = read_at<Elf64_Dyn>(file_, segment.p_offset + at);
        if (!entry || entry->d_tag == DT_NULL) return;
        visit(entry->d_tag, entry->d_un.d_val);
      }
    }
  }

  // Where the byte at this memory address lies in the file.
  std::optional<std::uint64_t> offset_of(std::uint64_t address) const {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
      if (address - segment.p_vaddr < segment.p_filesz) return segment.p_offset + (address - segment.p_vaddr);
    }
    return std::nullopt;
  }

  // Calls visit(name) for every defined function of .symtab, until it returns false. Stripped files have none.
  template <class Visit>
  void each_static_function(Visit visit) const {
    for (std::uint64_t i = 0; i < header_.e_shnum; ++i) {
      const auto section = read_at<Elf64_Shdr>(file_, header_.e_shoff + i * sizeof(Elf64_Shdr));
      if (!section || section->sh_type != SHT_SYMTAB) continue;
      const auto strings =
          read_at<Elf64_Shdr>(file_, header_.e_shoff + std::uint64_t{section->sh_link} * sizeof(Elf64_Shdr));
      if (!strings) return;
      const std::uint64_t count = std::min<std::uint64_t>(section->sh_size / sizeof(Elf64_Sym), kMaxSymbols);
      for (std::uint64_t s = 0; s < count; ++s) {
        const auto symbol = read_at<Elf64_Sym>(file_, section->sh_offset + s * sizeof(Elf64_Sym));
        if (!symbol) return;
        if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF) continue;
        if (!visit(text_at(file_, strings->sh_offset + symbol->st_name))) return;
      }
      return; // there is at most one
    }
  }

private:
  Bytes file_;
  Elf64_Ehdr header_;
  std::vector<Elf64_Phdr> segments_;
};

// Looks names up in the dynamic symbol table through its hash table, as the loader does, so the cost does not depend on
// the size of the program.
class DynamicSymbols {
public:
  explicit DynamicSymbols(const ElfFile& elf, Bytes file) : file_(file) {
    elf.each_dynamic([&](Elf64_Sxword tag, std::uint64_t value) {
      if (tag == DT_SYMTAB) symbols_ = elf.offset_of(value);
      if (tag == DT_STRTAB) strings_ = elf.offset_of(value);
      if (tag == DT_GNU_HASH) gnu_hash_ = elf.offset_of(value);
      if (tag == DT_HASH) sysv_hash_ = elf.offset_of(value);
    });
  }

  std::string_view text(std::uint64_t offset) const { return strings_ ? text_at(file_, *strings_ + offset) : ""; }

  bool defines(std::string_view name) const {
    if (!symbols_ || !strings_) return false;
    if (gnu_hash_) return defines_by_gnu_hash(name);
    return sysv_hash_ && defines_by_sysv_hash(name);
  }

private:
  bool is_definition(std::uint64_t index, std::string_view name) const {
    const auto symbol = read_at<Elf64_Sym>(file_, *symbols_ + index * sizeof(Elf64_Sym));
    return symbol && symbol->st_shndx != SHN_UNDEF && text(symbol->st_name) == name;
  }

  std::uint32_t word(std::uint64_t offset) const { return read_at<std::uint32_t>(file_, offset).value_or(0); }

  bool defines_by_gnu_hash(std::string_view name) const {
    std::uint32_t hash = 5381;
    for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
    const std::uint32_t buckets = word(*gnu_hash_);
    const std::uint32_t first_symbol = word(*gnu_hash_ + 4);
    const std::uint32_t bloom_words = word(*gnu_hash_ + 8);
    if (buckets == 0) return false;
    const std::uint64_t bucket_table = *gnu_hash_ + 16 + std::uint64_t{bloom_words} * 8;
    const std::uint64_t chains = bucket_table + std::uint64_t{buckets} * 4;
    std::uint64_t index = word(bucket_table + std::uint64_t{hash % buckets} * 4);
    if (index < first_symbol) return false;
    for (std::uint64_t step = 0; step < kMaxSymbols; ++step, ++index) {
      const auto chain = read_at<std::uint32_t>(file_, chains + (index - first_symbol) * 4);
      if (!chain) return false;
      if ((*chain | 1) == (hash | 1) && is_definition(index, name)) return true;
      if ((*chain & 1) != 0) return false;
    }
    return false;
  }

  bool defines_by_sysv_hash(std::string_view name) const {
    std::uint32_t hash = 0;
    for (const char c : name) {
      hash = (hash << 4) + static_cast<unsigned char>(c);
      const std::uint32_t high = hash & 0xf000'0000;
      hash = (hash ^ (high >> 24)) & ~high;
    }
    const std::uint32_t buckets = word(*sysv_hash_);
    if (buckets == 0) return false;
    std::uint32_t index = word(*sysv_hash_ + 8 + std::uint64_t{hash % buckets} * 4);
    for (std::uint64_t step = 0; index != STN_UNDEF && step < kMaxSymbols; ++step) {
      if (is_definition(index, name)) return true;
      index = word(*sysv_hash_ + 8 + std::uint64_t{buckets} * 4 + std::uint64_t{index} * 4);
    }
    return false;
  }

  Bytes file_;
  std::optional<std::uint64_t> symbols_, strings_, gnu_hash_, sysv_hash_;
};

template <std::size_t N>
std::string_view meaning_of(std::string_view symbol, const std::array<NamedSymbol, N>& table) {
  for (const NamedSymbol& entry : table) {
    if (entry.symbol == symbol) return entry.means;
  }
  return {};
}

template <std::size_t N>
std::string_view first_defined(const DynamicSymbols& symbols, const std::array<NamedSymbol, N>& table) {
  for (const NamedSymbol& entry : table) {
    if (symbols.defines(entry.symbol)) return entry.means;
  }
  return {};
}

// A runtime or allocator that was linked in statically shows its own names only in .symtab.
void name_the_malloc(const ElfFile& elf, ElfFacts& facts) {
  elf.each_static_function([&](std::string_view name) {
    if (facts.sanitizer.empty()) facts.sanitizer = meaning_of(name, kSanitizers);
    if (facts.allocator.empty()) facts.allocator = meaning_of(name, kAllocators);
    return facts.sanitizer.empty();
  });
}

} // namespace

std::string sanitizer_of_library(const std::string& name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kRuntimes{{
      {"hwasan", "HWAddressSanitizer"},
      {"asan", "AddressSanitizer"},
      {"tsan", "ThreadSanitizer"},
      {"msan", "MemorySanitizer"},
      {"lsan", "LeakSanitizer"},
  }};
  const std::string_view base = std::string_view(name).substr(name.rfind('/') + 1);
  for (const auto& [short_name, means] : kRuntimes) {
    for (const std::string_view prefix : {"lib", "libclang_rt."}) {
      if (!base.starts_with(prefix) || !base.substr(prefix.size()).starts_with(short_name)) continue;
      const std::string_view rest = base.substr(prefix.size() + short_name.size());
      if (rest.starts_with('.') || rest.starts_with('-')) return std::string(means);
    }
  }
  return {};
}

Result<ElfFacts> parse_elf_facts(Bytes file) {
  const auto ident = read_at<std::array<unsigned char, EI_NIDENT>>(file, 0);
  if (!ident || std::memcmp(ident->data(), ELFMAG, SELFMAG) != 0) {
    return Error{ErrorCode::NotFound, "not an ELF file"};
  }
  // The machine field lies at the same place in 32- and 64-bit files.
  const auto machine = read_at<std::uint16_t>(file, offsetof(Elf64_Ehdr, e_machine));
  if (!machine) return Error{ErrorCode::Malformed, "an ELF file without a header"};
  ElfFacts facts;
  facts.is_64_bit = (*ident)[EI_CLASS] == ELFCLASS64;
  facts.machine = *machine;
  if (!facts.is_64_bit || (*ident)[EI_DATA] != ELFDATA2LSB) return facts;

  const auto header = read_at<Elf64_Ehdr>(file, 0);
  if (!header) return Error{ErrorCode::Malformed, "an ELF file without a header"};
  if (header->e_type != ET_EXEC && header->e_type != ET_DYN) {
    return Error{ErrorCode::Malformed, "an ELF file that is not a program"};
  }
  const ElfFile elf(file, *header);
  const DynamicSymbols symbols(elf, file);
  facts.interpreter = elf.interpreter();
  facts.is_go = elf.has_note_of_go();
  elf.each_dynamic([&](Elf64_Sxword tag, std::uint64_t value) {
    if (tag == DT_NEEDED && facts.needed.size() < kMaxName) facts.needed.emplace_back(symbols.text(value));
    if (tag == DT_SONAME) facts.soname = symbols.text(value);
  });
  facts.defines_malloc = symbols.defines("malloc");
  facts.sanitizer = first_defined(symbols, kSanitizers);
  for (const std::string& library : facts.needed) {
    if (facts.sanitizer.empty()) facts.sanitizer = sanitizer_of_library(library);
  }
  if (facts.defines_malloc && facts.sanitizer.empty()) {
    facts.allocator = first_defined(symbols, kAllocators);
    name_the_malloc(elf, facts);
  }
  return facts;
}

} // namespace heaptape
