// Names of a tape's program by address and addresses by name, functions and data, from the files on this machine. A
// file that is not there or is another one by now names nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/names/module_map.h"
#include "report/names/pattern.h"
#include "symbols/symbol_list.h"
#include "tape/reader.h"

namespace heaptape {

struct FoundSymbol {
  const ListedSymbol* symbol = nullptr;
  const Module* module = nullptr;
  std::string name;          // demangled, with parameters
  std::uint64_t address = 0; // in the program's memory; of ThreadLocal: as in the symbol
};

// Reads a module's symbols when they are first needed. The tape must outlive it. One thread at a time.
class ProgramSymbols {
public:
  explicit ProgramSymbols(const TapeReader& tape, SymbolOptions options = {});

  // The symbol that holds an address of this moment.
  std::optional<FoundSymbol> at(std::uint64_t address, std::uint64_t time_us);
  // All with this name: linkage name, short name or full name.
  std::vector<FoundSymbol> named(std::string_view name);
  // Calls visit() for all whose demangled name matches, module by module and by address; it ends the search by false.
  void each_matching(const Pattern& pattern, const std::function<bool(const FoundSymbol&)>& visit);
  // Of the names that begin so, as many as asked for; for completion.
  std::vector<std::string> beginning_with(std::string_view start, std::size_t most);

  // Where in the source an address of code is; the innermost place. Empty: not known.
  SourcePlaces places(std::uint64_t address, std::uint64_t time_us);

  const ModuleMap& modules() const { return modules_; }
  // What could not be read, each said once.
  const std::vector<std::string>& problems() const { return problems_; }

private:
  const std::vector<ListedSymbol>& symbols_of(const Module& module);
  FoundSymbol found(const ListedSymbol& symbol, const Module& module) const;

  const TapeReader& tape_;
  SymbolOptions options_;
  Symbolizer symbolizer_;
  ModuleMap modules_;
  std::map<std::pair<std::string, std::vector<std::uint8_t>>, std::vector<ListedSymbol>> lists_;
  std::vector<std::string> problems_;
};

} // namespace heaptape
