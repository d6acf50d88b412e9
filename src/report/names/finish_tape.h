// What is done to a tape after its recording: names, then an index, both appended to it.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/index/index.h"
#include "base/result.h"
#include "report/names/symbolize_tape.h"

namespace heaptape {

struct AddSymbols {
  SymbolOptions options{};
  ModuleFd fd_of{}; // an open file of a module, see symbolize_tape()
  SymbolizeProgress progress{};
  RunTimeSource run_time = find_run_time_text;
};

// Finds names for the frames on a tape and appends those that the tape does not have yet. Refuses the tapes that
// TapeAppender refuses.
Result<TapeSymbols> add_symbols(const std::string& path, const AddSymbols& how = {});

} // namespace heaptape
