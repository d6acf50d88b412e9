// What happened to a block. The numbers are part of the wire layout and of the tape format: never renumber, only append.
#pragma once

#include <cstdint>

namespace heaptape {

enum class EventKind : std::uint8_t {
  None = 0,

  // The C allocation functions, one kind per function, so that mismatched pairs can be found later.
  Malloc = 1,
  Calloc = 2,
  Realloc = 3, // address: new block (0: realloc(p, 0) freed it); old_address: block it replaces (0: realloc(NULL, n))
  Free = 4,
  Memalign = 5,
  PosixMemalign = 6,
  AlignedAlloc = 7,
  Valloc = 8,
  Pvalloc = 9,
  ReallocArray = 10, // same fields as Realloc
  FreeSized = 11,
  FreeAlignedSized = 12,
  Cfree = 13,

  // C++, whatever the form (sized, aligned, nothrow).
  New = 14,
  NewArray = 15,
  Delete = 16,
  DeleteArray = 17,

  // Mappings the program makes itself.
  MmapAnonymous = 18,
  MmapFile = 19,
  Munmap = 20, // address and size: the range given back
  Mremap = 21, // address and size: the new range; old_address: the old one

  // Written by the collector in the rare case that a moved realloc's old address was handed to another thread before
  // that realloc returned: the old block ends here, and the Realloc that follows carries old_released.
  ReallocRelease = 22,

  // Blocks of the program's own pools (arenas, custom allocators), which lie inside other memory and never count as heap.
  // old_address is the number of the pool.
  PoolAlloc = 23,
  PoolFree = 24, // address 0: everything in the pool at once

  // Upper bound of what may stand on a tape.
  TapeKinds = 25,

  // Only in rings, never on a tape.
  ThreadStart = 40, // size field: the thread's kernel id; address: its stack's top
  ReallocBegin =
      41, // address: the old block; size: what is asked for; stamped before the real call. Its stack is the event's.
  ReallocFailed = 42,
  MremapBegin = 43, // address: the old range; size: its length
  MremapFailed = 44,
  // A mark of the program's own: its text, twelve bytes at a time (six in the address, six in the size), then the mark, whose
  // address field is the length of the text and whose size field is a MarkKind.
  MarkText = 45,
  Mark =
      46, // size field: MarkKind in bits 0..15; in bits 16..47 the number of a question, or 0 (see ThreadSlot::answered)
  CpuSample = 47, // of the CPU profile: see wire/cpu_record.h
  // Pools. In the rings PoolAlloc and PoolFree carry the pool in bits 32..47 of the size field and the low half of the size
  // below it; a PoolFree of pool 0 is one by a function that does not say which pool it means.
  PoolName = 48,  // names a pool by the text before it; address: its length, size: a PoolNameKind above the pool
  PoolBegin = 49, // of a block of 4 GiB and more, just before its PoolAlloc: address, and the whole size
  // A name for the thread: its text in MarkText records, then this, whose address field is the length of the text. Size field: who
  // gave the name, 0 heaptape_thread_name(), 1 the kernel has it.
  ThreadName = 50,
  // While the program has paused the recording: a block that is not to be on the tape, known so that its release need not be
  // either. Releases keep their kinds. A realloc is ReallocBegin and then, instead of Realloc, this with the new block (0: none).
  PausedAlloc = 51,
  PausedRealloc = 52,
  // An allocation that failed; address field: see wire/failed_call.h. The size field is the low part of the size asked for.
  FailedCall = 53,
  // A block that was recorded as malloc's is operator new's: the C++ library got it after its new-handler had made room. Size field:
  // the kind it should have had.
  BecameNew = 54,
  // From here on C++ blocks may be recorded under the names of either family, so that pairs say nothing.
  OperatorsMixed = 55,
  ThreadEnd = 56, // the thread is about to end
  // What the checks have found: see wire/memory_error.h.
  MemoryError = 57,
  // The program is about to die of a signal: see wire/crash_record.h.
  Crash = 58,
  // The process is about to fork and its child will be recorded, too. CLOCK_MONOTONIC in ns: address field bits 0..47, size field the
  // rest. The child says the same number (wire/handshake.h).
  Fork = 60,
};

// Kinds that make a block live.
constexpr bool is_allocation(EventKind kind) {
  switch (kind) {
  case EventKind::Malloc:
  case EventKind::Calloc:
  case EventKind::Memalign:
  case EventKind::PosixMemalign:
  case EventKind::AlignedAlloc:
  case EventKind::Valloc:
  case EventKind::Pvalloc:
  case EventKind::New:
  case EventKind::NewArray: return true;
  default: return false;
  }
}

constexpr bool is_reallocation(EventKind kind) { return kind == EventKind::Realloc || kind == EventKind::ReallocArray; }

// Kinds that end a block's life and make none.
constexpr bool is_release(EventKind kind) {
  switch (kind) {
  case EventKind::Free:
  case EventKind::FreeSized:
  case EventKind::FreeAlignedSized:
  case EventKind::Cfree:
  case EventKind::Delete:
  case EventKind::DeleteArray:
  case EventKind::ReallocRelease: return true;
  default: return false;
  }
}

constexpr bool is_pool(EventKind kind) { return kind == EventKind::PoolAlloc || kind == EventKind::PoolFree; }

// Kinds whose events say a size; the others end blocks.
constexpr bool has_size(EventKind kind) { return !is_release(kind) && kind != EventKind::PoolFree; }

// Which functions a block belongs to: those of its own family are to release it.
enum class Family : std::uint8_t { C = 0, New = 1, NewArray = 2, Unknown = 3 };

// Of the block that an event makes or ends.
constexpr Family family_of(EventKind kind) {
  switch (kind) {
  case EventKind::New:
  case EventKind::Delete: return Family::New;
  case EventKind::NewArray:
  case EventKind::DeleteArray: return Family::NewArray;
  case EventKind::ReallocRelease: return Family::Unknown;
  default: return Family::C;
  }
}

constexpr bool is_mapping(EventKind kind) {
  return kind == EventKind::MmapAnonymous || kind == EventKind::MmapFile || kind == EventKind::Munmap ||
         kind == EventKind::Mremap;
}

} // namespace heaptape
