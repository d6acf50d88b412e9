// The notes of a core file: threads with their registers, the process, its auxiliary vector and the files it had mapped.
#pragma once

#include <string>

#include "report/contents/snapshot_memory.h"
#include "tape/reader.h"

namespace heaptape {

// Threads that did not stop have no notes.
std::string core_notes(const TapeReader& tape, const SnapshotMemory& memory);

} // namespace heaptape
