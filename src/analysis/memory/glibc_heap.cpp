#include "analysis/memory/glibc_heap.h"

#include "analysis/memory/glibc_arena.h"
#include "analysis/memory/glibc_lists.h"

namespace heaptape {

namespace {

// Heaps of arenas other than the main one: as large as this and aligned to it, with a header that names the arena, the heap before,
// and how much of it is in use.
constexpr std::uint64_t kHeapBytes = std::uint64_t{64} << 20;
constexpr std::uint32_t kMostHeaps = 1 << 16;

bool is_busy(const GlibcFacts& facts, const ThreadState& thread) {
  return !thread.stopped || (facts.is_allocator_code && facts.is_allocator_code(thread[ThreadState::Rip]));
}

class ArenaChecker {
public:
  ArenaChecker(ChunkReader& reader, const GlibcFacts& facts) : reader_(reader), facts_(facts) {}

  void check(ArenaCheck& arena) {
    const auto lock = reader_.word(arena.address);
    if (!lock || (*lock & 0xffff'ffff) != 0 || (facts_.threads.size() == 1 && is_busy(facts_, facts_.threads[0]))) {
      arena.locked = true;
      return;
    }
    const std::uint64_t top = reader_.word(arena.address + GlibcArena::kTop).value_or(0);
    arena.walked = arena.main ? walk_main(arena, top) : walk_heaps(arena, top);
  }

private:
  bool walk_main(ArenaCheck& arena, std::uint64_t top) {
    const auto top_chunk = reader_.chunk(top);
    if (facts_.heap_begin == 0 || !top_chunk || top < facts_.heap_begin) return false;
    const std::uint64_t end = top + top_chunk->size;
    // Whatever took memory by brk before malloc did lies in front.
    const auto first = reader_.chunk(facts_.heap_begin);
    if (!first || !first->previous_in_use || first->size < kLeastChunk || first->size % 16 != 0 || end <= top)
      return false;
    return reader_.walk(facts_.heap_begin, end, top, arena);
  }

  // From the last heap, in which the top is, back to the first, in which the arena itself lies.
  bool walk_heaps(ArenaCheck& arena, std::uint64_t top) {
    bool whole = true;
    std::uint64_t heap = top & ~(kHeapBytes - 1);
    for (std::uint32_t i = 0; i < kMostHeaps && !reader_.is_full(); ++i) {
      const auto owner = reader_.word(heap), before = reader_.word(heap + 8), size = reader_.word(heap + 16);
      if (!owner || *owner != arena.address || !before || !size || *size > kHeapBytes) return false;
      const bool is_first = arena.address >> 26 == heap >> 26;
      const std::uint64_t begin =
          is_first ? (arena.address + GlibcArena::kBytes + 15) & ~std::uint64_t{15} : first_chunk(heap);
      whole = begin != 0 && reader_.walk(begin, heap + *size, top, arena) && whole;
      if (is_first) return whole;
      heap = *before;
    }
    return false;
  }
  // Behind a header that has grown with 2.35.
  std::uint64_t first_chunk(std::uint64_t heap) {
    for (const std::uint64_t header : {std::uint64_t{0x30}, std::uint64_t{0x20}}) {
      const auto chunk = reader_.chunk(heap + header);
      if (chunk && chunk->previous_in_use && chunk->size >= kLeastChunk && chunk->size % 16 == 0 &&
          chunk->size < kHeapBytes)
        return heap + header;
    }
    return 0;
  }

  ChunkReader& reader_;
  const GlibcFacts& facts_;
};

} // namespace

HeapCheck check_glibc_heap(const MemoryImage& image, const BlockRanks& ranks, const GlibcFacts& facts) {
  HeapCheck check;
  ChunkReader reader(image, ranks, check);
  ArenaChecker checker(reader, facts);
  for (std::uint64_t at = facts.main_arena; check.arenas.size() < GlibcArena::kMostArenas;) {
    ArenaCheck& arena = check.arenas.emplace_back();
    arena.address = at;
    arena.main = at == facts.main_arena;
    checker.check(arena);
    const auto next = reader.word(at + GlibcArena::kNext);
    if (!next || *next == facts.main_arena || *next == 0) break;
    at = *next;
  }
  reader.sort_free();
  for (ArenaCheck& arena : check.arenas) {
    if (arena.locked) continue;
    check_bins(reader, arena);
    check_fast_bins(reader, arena);
  }
  for (std::uint32_t i = 0; i < facts.threads.size(); ++i) {
    const ThreadState& thread = facts.threads[i];
    CacheCheck& cache = check.caches.emplace_back();
    cache.thread = i;
    cache.busy = is_busy(facts, thread);
    if (!cache.busy) check_cache(reader, thread, facts.static_tls, cache);
  }
  return check;
}

} // namespace heaptape
