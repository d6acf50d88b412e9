// What the program's resident memory consisted of when there was most of it: every page that was in memory then, looked up in what the
// tape knows of blocks, mappings and files. Nothing counts twice, and the lines add up.
//
//   a page            |== run of resident pages ==============================|
//   its range          [heap]                        | own mapping  | libc.so
//   live blocks          ####  ##      ####              ####
//   counts as          . heap, what lies between them  | held, heap   | files
//                        is held by the allocator
//
// A block counts with those of its bytes that were in memory. What is left of a page belongs to the range it lies in. An own mapping
// that is an allocator's counts as such: its stack says so, or it or another of the same stack holds a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/heap/cost.h"
#include "analysis/heap/heap_state.h"
#include "analysis/heap/owner.h"
#include "analysis/index/findings.h"
#include "tape/reader.h"

namespace heaptape {

struct MemoryLedger {
  std::uint64_t time_us = 0;
  // False: nobody looked at the pages. The lines are then estimates for the sample with most resident memory: what was live or mapped
  // may not have been touched, and what belongs to nothing else is in `other`.
  bool from_pages = false;
  bool whole = false;               // from_pages: all mappings were looked at
  std::uint64_t rss_bytes = 0;      // resident in all
  std::uint64_t recorder_bytes = 0; // of it: heaptape's own tables and library
  std::uint64_t peak_rss_bytes = 0; // the highest value ever, as the kernel kept it; 0: not known
  std::uint64_t heap_bytes = 0;     // live blocks
  std::uint64_t mapping_bytes = 0;  // the program's own mappings without a file
  std::uint64_t held_bytes = 0;     // an allocator's: free blocks, headers, padding
  std::uint64_t stack_bytes = 0;
  std::uint64_t file_bytes = 0;       // program, libraries with their data, files, shared memory
  std::uint64_t other_bytes = 0;      // the rest
  std::size_t stacks = 0;             // that had pages in memory
  std::vector<OwnerShare> blocks{};   // heap_bytes by owner; by owner
  std::vector<StackShare> mappings{}; // mapping_bytes by stack; by stack

  // Of the program: the sum of all lines.
  std::uint64_t total_bytes() const { return rss_bytes - recorder_bytes; }
};

// What of the resident memory was heaptape's own when most was resident, without reading any event; 0: not known.
std::uint64_t recorder_bytes_in(const TapeReader& tape);

// The time that the ledger of a tape is about; nullopt: the kernel never said anything about its memory.
std::optional<std::uint64_t> memory_ledger_time(const TapeReader& tape);
// `state` is the heap at that time.
MemoryLedger make_memory_ledger(const TapeReader& tape, const HeapState& state);

} // namespace heaptape
