// Threads at a snapshot of the program's end, as they were when they left the program's own code for good.
//
//   main, or who calls exit()    the thread is shown here
//   exit()                       frames of the C library: between what they keep, words of earlier calls are left over
//   its handlers, the recorder
#pragma once

#include <vector>

#include "report/contents/snapshot_memory.h"
#include "tape/reader.h"

namespace heaptape {

// All threads, in order; those that do not end the program as they are.
std::vector<ThreadState> threads_in_own_code(const TapeReader& tape, SnapshotMemory& memory);

} // namespace heaptape
