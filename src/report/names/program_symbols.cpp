#include "report/names/program_symbols.h"

#include <algorithm>
#include <set>

#include "symbols/demangle.h"

namespace heaptape {

ProgramSymbols::ProgramSymbols(const TapeReader& tape, SymbolOptions options)
    : tape_(tape), options_(options), symbolizer_(std::move(options)), modules_(tape.modules()) {}

const std::vector<ListedSymbol>& ProgramSymbols::symbols_of(const Module& module) {
  const auto [place, added] = lists_.try_emplace({module.path, module.build_id});
  if (added) place->second = list_symbols({.path = module.path, .build_id = module.build_id}, options_, problems_);
  return place->second;
}

FoundSymbol ProgramSymbols::found(const ListedSymbol& symbol, const Module& module) const {
  const bool fixed = symbol.sort == SymbolSort::ThreadLocal; // it has no address of its own
  return {&symbol, &module, demangle(symbol.name, NameForm::Full), symbol.address + (fixed ? 0 : module.load_bias)};
}

std::optional<FoundSymbol> ProgramSymbols::at(std::uint64_t address, std::uint64_t time_us) {
  const Module* module = modules_.find_at_time(address, time_us);
  if (module == nullptr) return std::nullopt;
  const std::vector<ListedSymbol>& symbols = symbols_of(*module);
  const std::uint64_t wanted = address - module->load_bias;
  auto after = std::upper_bound(symbols.begin(), symbols.end(), wanted,
                                [](std::uint64_t at, const ListedSymbol& symbol) { return at < symbol.address; });
  // The nearest that holds it; symbols may lie inside each other, but seldom many.
  for (int tries = 0; after != symbols.begin() && tries < 256; ++tries) {
    --after;
    if (after->sort == SymbolSort::ThreadLocal) continue;
    const std::uint64_t offset = wanted - after->address;
    if (offset >= after->size && !(offset == 0 && after->size == 0)) continue;
    // The first of those at the same address is the best name.
    while (after != symbols.begin() && std::prev(after)->address == after->address && std::prev(after)->size > offset &&
           std::prev(after)->sort != SymbolSort::ThreadLocal) {
      --after;
    }
    return found(*after, *module);
  }
  return std::nullopt;
}

std::vector<FoundSymbol> ProgramSymbols::named(std::string_view name) {
  std::vector<FoundSymbol> all;
  for (const Module& module : tape_.modules()) {
    const std::vector<ListedSymbol>& symbols = symbols_of(module);
    for (const ListedSymbol& symbol : symbols) {
      const bool mangled =
          symbol.name.starts_with("_Z") || symbol.name.starts_with("_R") || symbol.name.starts_with("_D");
      if (symbol.name == name || (mangled && (demangle(symbol.name, NameForm::Short) == name ||
                                              demangle(symbol.name, NameForm::Full) == name))) {
        all.push_back(found(symbol, module));
      }
    }
  }
  return all;
}

void ProgramSymbols::each_matching(const Pattern& pattern, const std::function<bool(const FoundSymbol&)>& visit) {
  for (const Module& module : tape_.modules()) {
    for (const ListedSymbol& symbol : symbols_of(module)) {
      const FoundSymbol one = found(symbol, module);
      if ((pattern.matches(one.name) || pattern.matches(symbol.name)) && !visit(one)) return;
    }
  }
}

std::vector<std::string> ProgramSymbols::beginning_with(std::string_view start, std::size_t most) {
  std::set<std::string> names;
  for (const Module& module : tape_.modules()) {
    for (const ListedSymbol& symbol : symbols_of(module)) {
      if (names.size() == most) break;
      const bool mangled =
          symbol.name.starts_with("_Z") || symbol.name.starts_with("_R") || symbol.name.starts_with("_D");
      std::string name = mangled ? demangle(symbol.name, NameForm::Short) : symbol.name;
      if (name.starts_with(start)) names.insert(std::move(name));
    }
  }
  return {names.begin(), names.end()};
}

SourcePlaces ProgramSymbols::places(std::uint64_t address, std::uint64_t time_us) {
  const Module* module = modules_.find_at_time(address, time_us);
  if (module == nullptr) return {};
  ModuleSymbols symbols = symbolizer_.open({.path = module->path, .build_id = module->build_id});
  const std::uint64_t wanted[] = {address - module->load_bias};
  return symbols.find(wanted).front();
}

} // namespace heaptape
