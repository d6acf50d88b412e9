// Places in the memory of a snapshot, in words.
#pragma once

#include <cstdint>
#include <string>

#include "report/contents/snapshot_heap.h"
#include "shell/session.h"

namespace heaptape {

// "memory of snapshot 2 ('warm'), event 1,234 at 12.500000 s"; and how long before the cursor, if that stands elsewhere.
std::string snapshot_text(Session& session, const MemorySnapshot& snapshot);
// What lies at an address, in a few words: "48-byte Circle +0x8 of main things.cpp:12", "g_shapes", "stack of thread 4711, in inner
// server.c:11 +0x18"; empty: nothing that has a name. After session.memory() has given the memory.
std::string place_text(Session& session, SnapshotMemory& memory, std::uint64_t address);
// Why a question about a block cannot be answered for this address.
Error not_in_a_block(Session& session, SnapshotMemory& memory, std::uint64_t address);
// Of a block that no root leads to, a line each: what kind of leak it is, and through which other block it is lost.
std::string unreachable_text(Session& session, SnapshotHeap& heap, std::uint32_t block);
// "48-byte Circle of main things.cpp:12"; "48-byte block of main things.cpp:12" when its type is not known by itself
std::string block_text(Session& session, const SnapshotHeap& heap, std::uint32_t block);
// Where a word of a root lies: "g_shapes (variables of things) at 0x…", "stack of thread 4711 at 0x…, in inner server.c:11 +0x18".
std::string root_place_text(Session& session, SnapshotMemory& memory, const RootRange& range, std::uint64_t word);
// In whose frame of this thread's stack it lies: "in inner server.c:11 +0x18"; empty: in none. The thread is a number in the snapshot's.
// After session.memory() has given the memory.
std::string frame_words(Session& session, std::size_t thread, std::uint64_t address);
// The thread with this number of the kernel, as the tape has it; null: it does not know it.
const Thread* thread_on_tape(const Session& session, const SnapshotMemory& memory, std::uint32_t tid);
// "thread 4711 (worker)", by the number that the kernel gave it.
std::string thread_words(const Session& session, std::uint32_t tid);
// What root words are grouped by: "variables of things", "registers of thread 4711 (worker)".
std::string root_group_text(Session& session, const SnapshotMemory& memory, const RootRange& range);
// Which word of its group it is: "g_shapes+0x8", "rbx", "+0x18" from where the stack ends or the range begins.
std::string root_word_text(Session& session, const SnapshotMemory& memory, const RootRange& range, std::uint64_t word);

} // namespace heaptape
