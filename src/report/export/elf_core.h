// A snapshot of memory as an ELF core file, as the kernel writes one when a program crashes: for gdb, lldb, readelf, chap and others.
#pragma once

#include <string>

#include "base/output_file.h"
#include "base/result.h"
#include "report/contents/snapshot_memory.h"
#include "report/export/core_layout.h"
#include "tape/reader.h"

namespace heaptape {

struct CoreWritten {
  CoreLayout layout{};
  std::uint64_t damaged_bytes = 0;   // lost on the tape; zeros in the file
  std::uint64_t missing_threads = 0; // they did not stop, so that nothing is known of them
};

// In order of addresses, a few pages at a time, with holes for zeros. The first thread is the one that a signal was about to end, or
// else the program's first one.
Result<CoreWritten> export_elf_core(const TapeReader& tape, SnapshotMemory& memory, OutputFile& output);

// What of the program's memory is not in the file, in one sentence; "" when all of it is.
std::string core_gaps_text(const CoreWritten& core);

} // namespace heaptape
