// Finds names for every frame on a tape.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/names/run_time_names.h"
#include "symbols/symbolizer.h"
#include "tape/reader.h"
#include "tape/symbols.h"

namespace heaptape {

// What became of one module that has frames on the tape.
struct ModuleSymbolsFound {
  std::string path;
  std::size_t addresses = 0; // distinct ones asked for
  std::size_t named = 0;     // of these, with a function
  std::size_t lined = 0;     // of these, with a source line
  std::vector<SymbolOrigin> origins{};
  std::vector<std::string> problems{}; // sentences for the user
};

struct TapeSymbols {
  Symbols symbols; // only what was found now; see encode_symbols() and TapeWriter::add_symbols()
  std::vector<ModuleSymbolsFound> modules; // in the order of the tape, each file once
};

// Called before each module and while a large one is read: addresses done so far, of how many on the tape.
using SymbolizeProgress = std::function<void(std::string_view path, std::size_t done, std::size_t total)>;

// An open file to read instead of the one at the path, for a module that was deleted or replaced since; -1: none. It
// stays the caller's.
using ModuleFd = std::function<int(const std::string& path, const std::vector<std::uint8_t>& build_id)>;

// What names the code made at run time; asked when the tape has frames in such code.
using RunTimeSource = std::function<RunTimeText(const TapeReader&)>;

// Never fails: what could not be found is reported per module. options.progress is not used.
TapeSymbols symbolize_tape(const TapeReader& tape, SymbolOptions options, const SymbolizeProgress& progress = {},
                           const ModuleFd& fd_of = {}, const RunTimeSource& run_time = find_run_time_text);

// Only the frames of these stacks: for one answer about a program that runs, whose tape holds no names yet.
Symbols symbolize_stacks(const TapeReader& tape, std::span<const StackId> stacks, SymbolOptions options);

} // namespace heaptape
