// A snapshot of memory as Chrome's DevTools read it (.heapsnapshot): blocks as nodes, references as edges.
//
//   (root)
//     (GC roots)                       groups of root words: the variables of a module, a thread's stack, its registers, ...
//       variables of things
//         g_world  ->  World @10       a block: its type, its size, and an id that it has in every snapshot of the tape
//           +0x18  ->  Node @11        the offset of the word that leads there
//     (lost blocks)                    nothing leads to these; without an edge DevTools would not show them
//     (doubtful references)            only words that are not aligned, or that lead right behind a block
//
// References from registers and stacks are weak for DevTools where variables lead to the block, too, so that they do not cut what a
// variable holds into pieces.
#pragma once

#include <cstdint>

#include "report/export/contents_input.h"
#include "report/export/sink.h"

namespace heaptape {

struct HeapSnapshotOptions {
  // DevTools cannot open files of more than about 2 GB. In a larger heap blocks that hold less than a ten thousandth of it are one
  // node per type below the block that holds them.
  std::uint32_t most_blocks = 5'000'000;
};

struct HeapSnapshotWritten {
  std::uint64_t folded_blocks = 0; // that are no node of their own
  std::uint64_t too_large = 0;     // blocks of 4 GiB and more, for which the format has no room: 4 GiB - 1
};

// Streams: besides what the heap is made of it needs about 10 bytes per block, and the names.
HeapSnapshotWritten export_heapsnapshot(const ContentsInput& input, const HeapSnapshotOptions& options, Sink& sink);

} // namespace heaptape
