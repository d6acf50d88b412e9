#include "symbols/symbol_list.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <tuple>

#include "symbols/finder.h"

namespace heaptape {
namespace {

SymbolSort sort_of(const Elf64_Sym& symbol) {
  switch (ELF64_ST_TYPE(symbol.st_info)) {
  case STT_FUNC:
  case STT_GNU_IFUNC: return SymbolSort::Function;
  case STT_OBJECT:
  case STT_COMMON: return SymbolSort::Object;
  case STT_TLS: return SymbolSort::ThreadLocal;
  default: return SymbolSort::Label;
  }
}

bool is_named_place(const Elf64_Sym& symbol) {
  const auto type = ELF64_ST_TYPE(symbol.st_info);
  if (type == STT_SECTION || type == STT_FILE) return false;
  return symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS && symbol.st_shndx != SHN_COMMON &&
         symbol.st_size <= ~std::uint64_t{0} - symbol.st_value;
}

void add(std::vector<ListedSymbol>& all, ByteSpan symbols, ByteSpan names, WantedSymbol wanted) {
  for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, symbols.data() + at, sizeof symbol);
    if (!is_named_place(symbol) || symbol.st_name >= names.size()) continue;
    const auto* text = reinterpret_cast<const char*>(names.data() + symbol.st_name);
    std::string_view name(text, ::strnlen(text, names.size() - symbol.st_name));
    name = name.substr(0, name.find('@'));
    if (name.empty() || !wanted(name)) continue;
    all.push_back({std::string(name), symbol.st_value, symbol.st_size, sort_of(symbol),
                   ELF64_ST_BIND(symbol.st_info) != STB_LOCAL});
  }
}

} // namespace

std::vector<ListedSymbol> parse_symbol_list(const ElfImage& image, WantedSymbol wanted) {
  std::vector<ListedSymbol> all;
  for (const auto& [symbols, names] : {std::pair{".symtab", ".strtab"}, std::pair{".dynsym", ".dynstr"}}) {
    const SectionBytes table = image.contents(symbols), text = image.contents(names);
    add(all, table.view(), text.view(), wanted);
  }
  // Real names before labels, larger before smaller: the first of equals is kept.
  std::sort(all.begin(), all.end(), [](const ListedSymbol& a, const ListedSymbol& b) {
    return std::tuple(a.address, a.sort, ~a.size, !a.global, std::string_view(a.name)) <
           std::tuple(b.address, b.sort, ~b.size, !b.global, std::string_view(b.name));
  });
  all.erase(std::unique(all.begin(), all.end(),
                        [](const ListedSymbol& a, const ListedSymbol& b) {
                          return a.address == b.address && a.name == b.name && a.sort == b.sort;
                        }),
            all.end());
  return all;
}

std::vector<ListedSymbol> list_symbols(const ModuleFile& file, const SymbolOptions& options,
                                       std::vector<std::string>& problems, WantedSymbol wanted) {
  const Finder finder(options);
  const Result<MappedFile> opened = finder.module(file);
  if (!opened) {
    problems.push_back(opened.error().sentence);
    return {};
  }
  const Result<ElfImage> image = ElfImage::parse(opened.value().bytes());
  if (!image) {
    problems.push_back(image.error().sentence);
    return {};
  }
  std::vector<ListedSymbol> all = parse_symbol_list(image.value(), wanted);
  if (image.value().has(".symtab")) return all;
  const auto debug = finder.debug_file(file.path, file.build_id, image.value().debug_link(), problems);
  if (!debug) return all;
  const Result<ElfImage> debug_image = ElfImage::parse(debug->bytes());
  if (!debug_image) return all;
  std::vector<ListedSymbol> more = parse_symbol_list(debug_image.value(), wanted);
  return more.size() > all.size() ? more : all;
}

} // namespace heaptape
