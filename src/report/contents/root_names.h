// What holds the heap from outside, in words: variables, threads with their registers and stacks, mappings.
#pragma once

#include <cstdint>
#include <string>

#include "report/contents/root_owners.h"
#include "report/contents/snapshot_heap.h"
#include "tape/reader.h"

namespace heaptape {

// "thread 4711 (worker)", by the number that the kernel gave it.
std::string thread_words(const TapeReader& tape, std::uint32_t tid);
// What root words are grouped by: "variables of things", "registers of thread 4711 (worker)".
std::string root_group_text(const TapeReader& tape, const SnapshotMemory& memory, const RootRange& range);
// Of a node below the root of the owners' dominators: "g_cache (variables of server)", "registers and stack of thread 4711", or
// kHeldInManyWays.
std::string root_words(const TapeReader& tape, SnapshotHeap& heap, const RootOwners& owners, std::uint32_t node);
inline constexpr const char* kHeldInManyWays = "held in more than one way";

} // namespace heaptape
