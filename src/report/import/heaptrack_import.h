// Makes a tape from a data file of heaptrack, as its interpreter writes them (file versions 1 to 3, heaptrack 1.0 to
// 1.5). Totals, peak and what is live at the end then match heaptrack_print. docs/guide/export.md says what such a tape
// lacks.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "report/import/unpacked_lines.h"
#include "tape/contents.h"
#include "tape/writer.h"

namespace heaptape {

struct ImportedTape {
  Summary summary;
  std::uint64_t odd_lines = 0; // of a sort that is not known; they were skipped
  std::string cut_off;         // a sentence when the file ends too early: the tape holds what came before; else empty
};

// Reads the lines to their end and writes everything but the header. `name` is the file's, for sentences. An Error
// leaves a tape without an end; the caller should remove it.
Result<ImportedTape> import_heaptrack(UnpackedLines& lines, const std::string& name, TapeWriter& tape);

} // namespace heaptape
