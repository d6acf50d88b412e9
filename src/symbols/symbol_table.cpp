#include "symbols/symbol_table.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <tuple>

namespace heaptape {

namespace {

// Functions before labels, global names before local ones: "malloc", not an alias that nobody calls.
std::uint8_t rank_of(const Elf64_Sym& symbol) {
  const auto type = ELF64_ST_TYPE(symbol.st_info);
  const auto binding = ELF64_ST_BIND(symbol.st_info);
  const int by_type = type == STT_NOTYPE ? 3 : 0;
  const int by_binding = binding == STB_LOCAL ? 2 : binding == STB_WEAK ? 1 : 0;
  return static_cast<std::uint8_t>(by_type + by_binding);
}

std::size_t leading_underscores(std::string_view name) { return std::min(name.find_first_not_of('_'), name.size()); }

// By address, those with a size first; then the best name, so that the choice is the same every time.
bool comes_before(const Symbol& a, const Symbol& b) {
  const auto key = [](const Symbol& s) {
    return std::tuple(s.start, s.end == s.start, s.rank, leading_underscores(s.name), s.name.size(), s.name);
  };
  return key(a) < key(b);
}

bool is_code(const Elf64_Sym& symbol) {
  const auto type = ELF64_ST_TYPE(symbol.st_info);
  return (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) && symbol.st_shndx != SHN_UNDEF &&
         symbol.st_shndx != SHN_ABS && symbol.st_shndx != SHN_COMMON && symbol.st_value != 0;
}

} // namespace

std::size_t SymbolTable::add(ByteSpan symbols, ByteSpan names) {
  std::size_t added = 0;
  for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, symbols.data() + at, sizeof symbol);
    if (!is_code(symbol) || symbol.st_name >= names.size()) continue;
    if (symbol.st_size > ~std::uint64_t{0} - symbol.st_value) continue;
    const auto* text = reinterpret_cast<const char*>(names.data() + symbol.st_name);
    std::string_view name(text, ::strnlen(text, names.size() - symbol.st_name));
    name = name.substr(0, name.find('@'));
    if (name.empty()) continue;
    symbols_.push_back({symbol.st_value, symbol.st_value + symbol.st_size, name, rank_of(symbol)});
    ++added;
  }
  return added;
}

void SymbolTable::finish(const std::vector<AddressRange>& code) {
  // Labels of data have no type either.
  std::erase_if(symbols_, [&](const Symbol& symbol) {
    const auto after = std::upper_bound(code.begin(), code.end(), symbol.start,
                                        [](std::uint64_t address, const AddressRange& r) { return address < r.start; });
    return after == code.begin() || symbol.start >= std::prev(after)->end;
  });
  std::sort(symbols_.begin(), symbols_.end(), comes_before);
  // Larger symbols at the same start stay: the address may lie behind the end of the smaller.
  symbols_.erase(std::unique(symbols_.begin(), symbols_.end(),
                             [](const Symbol& a, const Symbol& b) { return a.start == b.start && a.end == b.end; }),
                 symbols_.end());
  symbols_.shrink_to_fit();
  std::uint64_t highest = 0;
  for (const Symbol& symbol : symbols_) highest_ends_.push_back(highest = std::max(highest, symbol.end));
  code_ = code;
}

const Symbol* SymbolTable::find(std::uint64_t address) const {
  const auto after = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                                      [](std::uint64_t wanted, const Symbol& symbol) { return wanted < symbol.start; });
  const Symbol* best = nullptr;
  for (auto at = static_cast<std::size_t>(after - symbols_.begin()); at-- > 0 && highest_ends_[at] > address;) {
    const Symbol& symbol = symbols_[at];
    if (symbol.end <= address) continue;
    // Going on among those of the same start, the first of which is the best.
    if (best != nullptr && best->start != symbol.start) break;
    best = &symbol;
  }
  if (best != nullptr || after == symbols_.begin()) return best;
  const Symbol* last = &*std::prev(after);
  if (last->end != last->start) return nullptr;
  const auto range = std::upper_bound(code_.begin(), code_.end(), address,
                                      [](std::uint64_t wanted, const AddressRange& r) { return wanted < r.start; });
  if (range == code_.begin() || address >= std::prev(range)->end || last->start < std::prev(range)->start)
    return nullptr;
  return last;
}

} // namespace heaptape
