// A snapshot of memory as lines of JSON, for scripts: what was mapped, threads, roots, blocks and what they lead to. docs/guide/export.md
// lists the fields.
#pragma once

#include "report/contents/snapshot_memory.h"
#include "report/export/contents_input.h"
#include "report/export/sink.h"
#include "tape/reader.h"

namespace heaptape {

// Streams.
void export_contents_lines(const TapeReader& tape, const SnapshotMemory& memory, const ContentsInput& input,
                           Sink& sink);

} // namespace heaptape
