// Names for code addresses of a program's files, from whatever those files and their companions hold. In this order:
// DWARF (inlined calls, lines, columns), symbol table, dynamic symbols, .gnu_debugdata. Each is looked for in the file
// itself and then in a separate debug file (build-id directories, .gnu_debuglink, debuginfod). What none of them knows
// stays unknown: an address between two functions, or past the end of a symbol that has a size, is never given a
// neighbour's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/source_place.h"
#include "symbols/symbol_options.h"
#include "symbols/unwind_table.h"

namespace heaptape {

// What the names came from.
enum class SymbolKind : std::uint8_t { Dwarf, SymbolTable, DynamicSymbols, MiniDebugInfo };
struct SymbolOrigin {
  SymbolKind kind = SymbolKind::Dwarf;
  std::string path; // of the file that held them
};

// The symbols of one file; keeps what it needs of it open. One thread at a time.
class ModuleSymbols {
public:
  ModuleSymbols(ModuleSymbols&&) noexcept;
  ModuleSymbols& operator=(ModuleSymbols&&) noexcept;
  ~ModuleSymbols();

  // For each address (as the file counts them; of a call, an address inside it), what it stands for. In any order,
  // doubles allowed; many at once are much cheaper than one by one.
  std::vector<SourcePlaces> find(std::span<const std::uint64_t> addresses);

  // Whether the code at `address` is that of a signal trampoline: the frame outside it was interrupted, not calling.
  bool is_signal_trampoline(std::uint64_t address) const;

  // How frames of this code lead to their callers; read at the first call. Addresses as the file counts them.
  const UnwindTable& unwind_table();

  // Where names come from, the best first; empty: nothing was found.
  const std::vector<SymbolOrigin>& origins() const;
  // Sentences for the user: the file is gone, has been replaced since (its build-id differs), makes no sense.
  const std::vector<std::string>& problems() const;

private:
  friend class Symbolizer;
  struct State;
  explicit ModuleSymbols(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class Symbolizer {
public:
  explicit Symbolizer(SymbolOptions options = {});
  ~Symbolizer();

  // Finds the file and its companions. Never fails: what could not be had is among its problems(), and addresses stay
  // unknown. The result must not outlive the Symbolizer.
  ModuleSymbols open(const ModuleFile& file);

private:
  SymbolOptions options_;
};

} // namespace heaptape
