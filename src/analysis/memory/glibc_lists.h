// The lists in which glibc's malloc keeps free chunks. Private to glibc_heap.cpp.
#pragma once

#include <cstdint>

#include "analysis/memory/glibc_chunks.h"

namespace heaptape {

// Doubly linked, of chunks that their neighbours know as free; `arena.walked` says whether all of those are known.
void check_bins(ChunkReader& reader, ArenaCheck& arena);
// Singly linked, of chunks that their neighbours take for used.
void check_fast_bins(ChunkReader& reader, ArenaCheck& arena);
// The cache of a thread, which is found among its variables; nothing happens when there is none.
void check_cache(ChunkReader& reader, const ThreadState& thread, std::uint64_t static_tls, CacheCheck& cache);

} // namespace heaptape
