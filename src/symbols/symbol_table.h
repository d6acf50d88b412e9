// Names of functions by address, from ELF symbol tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "symbols/elf_image.h"

namespace heaptape {

struct Symbol {
  std::uint64_t start = 0;
  std::uint64_t end = 0; // == start: its size is not known
  std::string_view name; // without "@VERSION"
  std::uint8_t rank = 0; // of several at one address the lowest is taken
};

// The names point into the bytes that were parsed, which must outlive the table.
class SymbolTable {
public:
  // Adds the code symbols of .symtab and .strtab, or .dynsym and .dynstr. Returns how many there were. Entries that
  // make no sense are left out.
  std::size_t add(ByteSpan symbols, ByteSpan names);

  // To be called after the last add() and before find(). `code` is where the file has code, sorted.
  void finish(const std::vector<AddressRange>& code);

  // The innermost symbol that has `address` inside its size; else the last one without a size in front of it, when no
  // other symbol and no end of code lies between. Null: no name is known.
  const Symbol* find(std::uint64_t address) const;

  bool empty() const { return symbols_.empty(); }

private:
  std::vector<Symbol> symbols_;             // by start; one for each start and whether its size is known
  std::vector<std::uint64_t> highest_ends_; // of this and all symbols before it
  std::vector<AddressRange> code_;
};

} // namespace heaptape
