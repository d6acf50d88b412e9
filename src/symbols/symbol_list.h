// All named symbols of a program's files, functions and data, for lookup by name and for addresses that are not code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "symbols/elf_image.h"
#include "symbols/symbolizer.h"

namespace heaptape {

enum class SymbolSort : std::uint8_t { Function, Object, ThreadLocal, Label };

struct ListedSymbol {
  std::string name;          // linkage name, without "@VERSION"
  std::uint64_t address = 0; // as the file counts; of ThreadLocal: an offset in each thread's block
  std::uint64_t size = 0;    // 0: not known
  SymbolSort sort = SymbolSort::Label;
  bool global = false;
  friend bool operator==(const ListedSymbol&, const ListedSymbol&) = default;
};

// Which symbols are wanted, by their names.
using WantedSymbol = bool (*)(std::string_view name);
inline bool any_symbol(std::string_view) { return true; }

// Those of .symtab and .dynsym, by address, each once. Entries that make no sense are left out.
std::vector<ListedSymbol> parse_symbol_list(const ElfImage& image, WantedSymbol wanted = any_symbol);

// The symbols of the module's file and, when that has no .symtab, of its debug file. Never fails: what could not be
// read is reported in `problems`.
std::vector<ListedSymbol> list_symbols(const ModuleFile& file, const SymbolOptions& options,
                                       std::vector<std::string>& problems, WantedSymbol wanted = any_symbol);

} // namespace heaptape
