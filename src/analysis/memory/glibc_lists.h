// The lists in which glibc's malloc keeps free chunks. Private to glibc_heap.cpp.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/memory/glibc_chunks.h"

namespace heaptape {

// The cache of a thread: a table of lists, each with the number of its chunks.
struct GlibcCache {
  std::uint64_t table = 0;
  std::uint64_t count_bytes = 2; // 1 until 2.29
};
// It is found among the thread's variables; nullopt: the thread has none.
std::optional<GlibcCache> find_cache(ChunkReader& reader, const ThreadState& thread, std::uint64_t static_tls);

// Sets reader.mixed_links by what the first chunks of the lists in these say.
void look_at_links(ChunkReader& reader, const GlibcCache& cache);
void look_at_links(ChunkReader& reader, const ArenaCheck& arena);

// Doubly linked, of chunks that their neighbours know as free; `walked` says whether all of those are known.
void check_bins(ChunkReader& reader, ArenaCheck& arena, bool walked);
// Singly linked, of chunks that their neighbours take for used.
void check_fast_bins(ChunkReader& reader, ArenaCheck& arena);
void check_cache(ChunkReader& reader, const GlibcCache& found, CacheCheck& cache);

// Chunks that are in lists more than once; and free ones that are in none, if all lists are known. After all lists and sort_free().
void check_members(ChunkReader& reader, bool all_known);

} // namespace heaptape
