#include "analysis/memory/glibc_heap.h"

#include <algorithm>
#include <utility>

#include "analysis/memory/glibc_arena.h"
#include "analysis/memory/glibc_lists.h"

namespace heaptape {

namespace {

// Heaps of arenas other than the main one: as large as this and aligned to it, with a header that names the arena, the heap before,
// and how much of it is in use.
constexpr std::uint64_t kHeapBytes = std::uint64_t{64} << 20;
constexpr std::uint32_t kMostHeaps = 1 << 16;
constexpr std::uint64_t kUsuallyMapped = std::uint64_t{128}
                                         << 10; // blocks from here on have a mapping of their own, unless tuned

constexpr std::uint64_t kFarVariables = std::uint64_t{64} << 10; // bytes below a thread pointer

class HeapChecker {
public:
  HeapChecker(const MemoryImage& image, const BlockRanks& ranks, const GlibcFacts& facts)
      : reader_(image, ranks, facts.in_flight, facts.all_blocks_known), facts_(facts) {}

  HeapCheck run() {
    for (const ThreadState& thread : facts_.threads) allocating_ += may_be_allocating(thread);
    find_arenas();
    find_caches();
    for (ArenaCheck& arena : check_.arenas) walk(arena);
    reader_.sort_free();
    for (std::size_t i = 0; i < check_.arenas.size(); ++i) check_lists(i);
    for (std::size_t i = 0; i < check_.caches.size(); ++i) check_cache_lists(i);
    const bool all_walked =
        std::ranges::all_of(check_.arenas, [](const ArenaCheck& arena) { return arena.state == HeapPartState::Sound; });
    if (allocating_ == 0) check_members(reader_, all_walked && reader_.problems.empty() && reader_.unseen == 0);
    check_mapped();
    settle();
    return std::move(check_);
  }

private:
  bool may_be_allocating(const ThreadState& thread) const {
    return !thread.stopped || (facts_.may_be_allocating && facts_.may_be_allocating(thread));
  }

  void find_arenas() {
    for (std::uint64_t at = facts_.main_arena; check_.arenas.size() < GlibcArena::kMostArenas;) {
      check_.arenas.push_back({.address = at, .main = at == facts_.main_arena});
      const auto next = reader_.word(at + GlibcArena::kNext);
      if (!next) reader_.cannot_see(at + GlibcArena::kNext);
      if (!next || *next == facts_.main_arena || *next == 0) break;
      at = *next;
    }
    for (const ArenaCheck& arena : check_.arenas) look_at_links(reader_, arena);
  }
  void find_caches() {
    for (std::uint32_t i = 0; i < facts_.threads.size(); ++i) {
      check_.caches.push_back({.thread = i});
      const ThreadState& thread = facts_.threads[i];
      caches_.push_back(thread.stopped ? find_cache(reader_, thread, facts_.static_tls) : std::nullopt);
      // In a program with many libraries libc's variables may lie farther away.
      if (thread.stopped && !caches_.back()) caches_.back() = find_cache(reader_, thread, kFarVariables);
      check_.caches.back().found = caches_.back().has_value();
      if (caches_.back()) look_at_links(reader_, *caches_.back());
    }
  }

  // A single thread takes no lock; a lock may also be held for good by a thread that is ending the program.
  bool may_be_changing(const ArenaCheck& arena) {
    const auto lock = reader_.word(arena.address);
    const bool is_locked = !lock || (*lock & 0xffff'ffff) != 0;
    return allocating_ != 0 && (is_locked || facts_.threads.size() == 1);
  }
  // What `look` finds counts for nothing while the part is being changed.
  template <class Look>
  void look_at(HeapPartState& state, std::uint64_t& problems, bool changing, Look look) {
    const std::size_t before = reader_.problems.size();
    const std::uint64_t unseen_before = reader_.unseen;
    look();
    if (reader_.unseen != unseen_before && state == HeapPartState::Sound) state = HeapPartState::NotWalked;
    const std::size_t found = reader_.problems.size() - before;
    if (found == 0) return;
    if (changing) reader_.problems.resize(before);
    state = changing ? HeapPartState::Changing : HeapPartState::Damaged;
    if (!changing) problems += found;
  }

  void walk(ArenaCheck& arena) {
    if (reader_.cannot_see(arena.address + GlibcArena::kSystemBytes)) {
      arena.state = HeapPartState::NotWalked;
      return;
    }
    arena.system_bytes = reader_.word(arena.address + GlibcArena::kSystemBytes).value_or(0);
    if (arena.system_bytes == 0) return; // nothing was allocated in it yet
    const std::size_t free_before = reader_.free_chunks.size();
    bool walked = false;
    look_at(arena.state, arena.problems, may_be_changing(arena), [&] {
      const std::uint64_t top = reader_.word(arena.address + GlibcArena::kTop).value_or(0);
      walked = arena.main ? walk_main(arena, top) : walk_heaps(arena, top);
    });
    if (!walked && arena.state == HeapPartState::Sound) arena.state = HeapPartState::NotWalked;
    if (arena.state == HeapPartState::Changing) reader_.free_chunks.resize(free_before);
  }
  bool walk_main(ArenaCheck& arena, std::uint64_t top) {
    if (facts_.heap_begin == 0 || facts_.heap_end <= facts_.heap_begin) return false;
    std::uint64_t begin = facts_.heap_begin;
    // Whatever took memory by brk before malloc did lies in front.
    const auto first = reader_.chunk(begin);
    if (!first || !first->previous_in_use() || !first->has_usual_size()) {
      const std::uint32_t block = reader_.ranks().first_from(begin + kChunkHeader);
      if (block == reader_.ranks().size() || reader_.ranks().begin(block) >= facts_.heap_end) return false;
      begin = reader_.ranks().begin(block) - kChunkHeader;
    }
    return reader_.walk(begin, facts_.heap_end, top, arena);
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
      if (chunk && chunk->previous_in_use() && chunk->has_usual_size() && chunk->size < kHeapBytes)
        return heap + header;
    }
    return 0;
  }

  void check_lists(std::size_t number) {
    ArenaCheck& arena = check_.arenas[number];
    if (arena.state == HeapPartState::Changing || arena.system_bytes == 0) return;
    const bool walked = arena.state == HeapPartState::Sound;
    const std::size_t members_before = reader_.members.size();
    look_at(arena.state, arena.problems, may_be_changing(arena), [&] {
      check_bins(reader_, arena, walked);
      check_fast_bins(reader_, arena);
    });
    if (arena.state == HeapPartState::Changing) reader_.members.resize(members_before);
  }
  void check_cache_lists(std::size_t number) {
    CacheCheck& cache = check_.caches[number];
    if (!caches_[number]) return;
    const std::size_t members_before = reader_.members.size();
    look_at(cache.state, cache.problems, may_be_allocating(facts_.threads[cache.thread]),
            [&] { check_cache(reader_, *caches_[number], cache); });
    if (cache.state == HeapPartState::Changing) reader_.members.resize(members_before);
  }

  // Blocks with a mapping of their own.
  void check_mapped() {
    const BlockRanks& ranks = reader_.ranks();
    std::ranges::sort(reader_.walked, {}, &ChunkReader::Span::begin);
    auto span = reader_.walked.begin();
    for (std::uint32_t block = 0; block < ranks.size(); ++block) {
      const std::uint64_t begin = ranks.begin(block), address = begin - kChunkHeader;
      while (span != reader_.walked.end() && span->end <= begin) ++span;
      if (span != reader_.walked.end() && span->begin <= begin) continue;
      if (begin >= kChunkHeader && reader_.cannot_see(address + 8)) continue;
      const auto chunk = begin % 16 == 0 && begin >= kChunkHeader ? reader_.chunk(address) : std::nullopt;
      const auto in_front = chunk ? reader_.word(address) : std::nullopt; // of the mapping, for alignment
      const bool is_mapped = in_front && (chunk->head & kChunkMapped) != 0 && (address - *in_front) % kPageBytes == 0 &&
                             (*in_front + chunk->size) % kPageBytes == 0 &&
                             chunk->size >= ranks.bytes(block) + kChunkHeader;
      if (!is_mapped) {
        // Where its mapping begins, nothing else has a header.
        if (chunk && begin % kPageBytes == kChunkHeader && ranks.bytes(block) >= kUsuallyMapped &&
            reader_.is_live(begin))
          reader_.report(
              {.kind = HeapProblemKind::ChunkSize, .chunk = address, .place = address + 8, .value = chunk->head});
        else
          check_.elsewhere.add(ranks.bytes(block));
        continue;
      }
      check_.mapped.add(chunk->size + *in_front);
      check_.mapped_block_bytes += ranks.bytes(block);
    }
  }

  void settle() {
    check_.problems = std::move(reader_.problems);
    check_.unseen = reader_.unseen;
    // One word may be found more than once: by walking, and in a list.
    std::ranges::sort(check_.problems, {},
                      [](const HeapProblem& problem) { return std::pair(problem.place, problem.kind); });
    const auto same = [](const HeapProblem& a, const HeapProblem& b) { return a.place == b.place; };
    check_.problems.erase(std::unique(check_.problems.begin(), check_.problems.end(), same), check_.problems.end());
  }

  ChunkReader reader_;
  const GlibcFacts& facts_;
  HeapCheck check_;
  std::vector<std::optional<GlibcCache>> caches_; // by thread
  std::uint32_t allocating_ = 0;                  // threads
};

} // namespace

HeapCheck check_glibc_heap(const MemoryImage& image, const BlockRanks& ranks, const GlibcFacts& facts) {
  return HeapChecker(image, ranks, facts).run();
}

} // namespace heaptape
