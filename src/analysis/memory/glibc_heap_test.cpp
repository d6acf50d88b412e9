#include "analysis/memory/glibc_heap.h"

#include <gtest/gtest.h>

#include <vector>

#include "analysis/memory/glibc_arena.h"
#include "analysis/memory/pages_for_test.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kArena = 0x7000'0000'0c60, kHeap = 0x5555'0000'0000, kThread = 0x7100'0000'0800;

// A heap as glibc lays it out: chunks one after the other, the last is the top.
class GlibcForTest {
public:
  GlibcForTest() {
    for (std::uint64_t bin = 1; bin <= GlibcArena::kBinCount; ++bin) link_bin(bin, {});
    pages.put_word(kArena, 0);
    pages.put_word(kArena + GlibcArena::kNext, kArena);
    add(0x290); // the cache of the first thread
    pages.put_word(kThread - 64, kHeap + 16);
    pages.touch(kThread);
  }
  // The next chunk; `live`: a block of the program's.
  std::uint64_t add(std::uint64_t size, bool live = false, bool free = false) {
    const std::uint64_t chunk = next_;
    for (std::uint64_t at = 0; at < size; at += kPageBytes) pages.touch(chunk + at);
    pages.put_word(chunk + 8, size | (last_is_free_ ? 0 : 1));
    if (live) blocks.push_back({chunk + 16, size - 8, 1});
    if (free) pages.put_word(chunk + size, size);
    last_is_free_ = free;
    next_ += size;
    return chunk;
  }
  std::uint64_t bin(std::uint64_t number) const { return kArena + GlibcArena::kBins + (number - 1) * 16 - 16; }
  void link_bin(std::uint64_t number, const std::vector<std::uint64_t>& chunks) {
    std::uint64_t before = bin(number);
    for (const std::uint64_t chunk : chunks) {
      pages.put_word(before + 16, chunk);
      pages.put_word(chunk + 24, before);
      before = chunk;
    }
    pages.put_word(before + 16, bin(number));
    pages.put_word(bin(number) + 24, before);
  }
  // Chunks of one size in the cache, linked as since 2.32, or as before.
  void link_cache(std::uint64_t size, const std::vector<std::uint64_t>& chunks, bool mixed = true) {
    const std::uint64_t list = (size - 32) / 16, table = kHeap + 16;
    const auto count = static_cast<std::uint16_t>(chunks.size());
    pages.put(table + list * 2, std::as_bytes(std::span(&count, 1)));
    pages.put_word(table + 128 + list * 8, chunks.front() + 16);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      const std::uint64_t place = chunks[i] + 16, to = i + 1 < chunks.size() ? chunks[i + 1] + 16 : 0;
      pages.put_word(place, mixed ? place >> 12 ^ to : to);
    }
  }
  HeapCheck check(bool busy = false) {
    const std::uint64_t top = next_;
    pages.put_word(top + 8, 0x1000 | (last_is_free_ ? 0 : 1));
    pages.put_word(kArena + GlibcArena::kTop, top);
    std::vector<ThreadState> threads(1);
    threads[0].registers[ThreadState::FsBase] = kThread;
    GlibcFacts facts;
    facts.main_arena = kArena;
    facts.heap_begin = kHeap;
    facts.threads = threads;
    facts.is_allocator_code = [&](std::uint64_t) { return busy; };
    const MemoryImage image(pages.runs(), pages);
    MemoryCursor cursor(image);
    EXPECT_EQ(find_main_arena(cursor, 0x7000'0000'0000, 0x7000'0000'2000), kArena);
    return check_glibc_heap(image, BlockRanks::of(blocks).value(), facts);
  }
  // Kinds of what is wrong.
  std::vector<HeapProblemKind> problems() {
    std::vector<HeapProblemKind> kinds;
    for (const HeapProblem& problem : check().problems) kinds.push_back(problem.kind);
    return kinds;
  }

  PagesForTest pages;
  std::vector<HeapBlock> blocks;

private:
  std::uint64_t next_ = kHeap;
  bool last_is_free_ = false;
};

using Kinds = std::vector<HeapProblemKind>;

TEST(GlibcHeap, IsSoundWhenChunksAndListsFitTogether) {
  GlibcForTest heap;
  heap.add(0x40, true);
  const std::uint64_t small = heap.add(0x90, false, true);
  heap.add(0x40, true);
  const std::uint64_t unsorted = heap.add(0x500, false, true);
  heap.add(0x30, true);
  const std::uint64_t fast = heap.add(0x20), cached = heap.add(0x50), also_cached = heap.add(0x50);
  heap.link_bin(9, {small});
  heap.link_bin(1, {unsorted});
  heap.pages.put_word(kArena + GlibcArena::kFastBins, fast);
  heap.pages.put_word(fast + 16, (fast + 16) >> 12);
  heap.link_cache(0x50, {cached, also_cached});
  const HeapCheck check = heap.check();
  EXPECT_TRUE(check.problems.empty());
  ASSERT_EQ(check.arenas.size(), 1u);
  EXPECT_TRUE(check.arenas[0].main && check.arenas[0].walked && !check.arenas[0].locked);
  EXPECT_EQ(check.arenas[0].chunks, 9u);
  EXPECT_EQ(check.arenas[0].free_chunks, 2u);
  EXPECT_EQ(check.arenas[0].in_bins, 2u);
  EXPECT_EQ(check.arenas[0].bins, 2u);
  EXPECT_EQ(check.arenas[0].in_fast_bins, 1u);
  ASSERT_EQ(check.caches.size(), 1u);
  EXPECT_EQ(check.caches[0].chunks, 2u);
}

TEST(GlibcHeap, ReadsLinksOfOlderVersions) {
  GlibcForTest heap;
  const std::uint64_t a = heap.add(0x50), b = heap.add(0x50);
  heap.link_cache(0x50, {a, b}, false);
  const HeapCheck check = heap.check();
  EXPECT_TRUE(check.problems.empty());
  EXPECT_EQ(check.caches[0].chunks, 2u);
}

TEST(GlibcHeap, NamesTheBlockBeforeASizeThatWasWrittenOver) {
  GlibcForTest heap;
  heap.add(0x40, true);
  heap.add(0x40, true);
  const std::uint64_t hurt = heap.add(0x40, true);
  heap.add(0x40, true);
  heap.pages.put_word(hurt + 8, 0x4141414141414141);
  const HeapCheck check = heap.check();
  ASSERT_EQ(check.problems.size(), 1u) << "behind it, the walk goes on at the next live block";
  EXPECT_EQ(check.problems[0].kind, HeapProblemKind::ChunkSize);
  EXPECT_EQ(check.problems[0].address, hurt);
  EXPECT_EQ(check.problems[0].block_before, 1u);
  EXPECT_FALSE(check.arenas[0].walked);
}

TEST(GlibcHeap, FindsLinksThatLeadAstray) {
  {
    GlibcForTest heap;
    const std::uint64_t chunk = heap.add(0x90, false, true);
    heap.add(0x40, true);
    heap.link_bin(9, {chunk});
    heap.pages.put_word(chunk + 24, 0x1234);
    EXPECT_EQ(heap.problems(), Kinds{HeapProblemKind::ListLink});
  }
  {
    GlibcForTest heap;
    const std::uint64_t chunk = heap.add(0x50);
    heap.link_cache(0x50, {chunk});
    heap.pages.put_word(chunk + 16, 0x4141414141414141);
    EXPECT_EQ(heap.problems(), (Kinds{HeapProblemKind::ListLink}));
  }
  {
    GlibcForTest heap;
    const std::uint64_t chunk = heap.add(0x60);
    heap.link_cache(0x50, {chunk});
    EXPECT_EQ(heap.problems(), (Kinds{HeapProblemKind::ListSize, HeapProblemKind::ListLength}));
  }
}

TEST(GlibcHeap, FindsAChunkThatIsFreedTwice) {
  GlibcForTest heap;
  const std::uint64_t a = heap.add(0x50), b = heap.add(0x50);
  heap.link_cache(0x50, {a, b, a});
  EXPECT_EQ(heap.problems().back(), HeapProblemKind::ListLength);
}

TEST(GlibcHeap, FindsLiveBlocksThatAreFreeOrDoNotFit) {
  GlibcForTest heap;
  heap.add(0x40, true, true); // free for its neighbour
  heap.add(0x40, true);
  heap.blocks.back().size = 0x100;
  const std::uint64_t cached = heap.add(0x50, true);
  heap.link_cache(0x50, {cached});
  const Kinds kinds = heap.problems();
  EXPECT_EQ(kinds, (Kinds{HeapProblemKind::LiveBlockIsFree, HeapProblemKind::LiveBlockTooBig,
                          HeapProblemKind::LiveBlockIsFree, HeapProblemKind::ListLength}));
}

TEST(GlibcHeap, FindsFreeChunksThatDisagreeWithTheirNeighbours) {
  GlibcForTest heap;
  const std::uint64_t a = heap.add(0x90, false, true);
  heap.add(0x90, false, true);
  heap.add(0x40, true);
  heap.pages.put_word(a + 0x90, 0x80);
  EXPECT_EQ(heap.problems(), (Kinds{HeapProblemKind::PreviousSize, HeapProblemKind::FreeNeighbours}));
}

TEST(GlibcHeap, IsNotLookedAtWhileItIsBeingChanged) {
  GlibcForTest heap;
  const std::uint64_t chunk = heap.add(0x40, true);
  heap.pages.put_word(chunk + 8, 1);
  heap.pages.put_word(kArena, 1);
  const HeapCheck check = heap.check();
  EXPECT_TRUE(check.problems.empty());
  EXPECT_TRUE(check.arenas[0].locked);
  heap.pages.put_word(kArena, 0);
  const HeapCheck busy = heap.check(true);
  EXPECT_TRUE(busy.problems.empty());
  EXPECT_TRUE(busy.arenas[0].locked) << "one thread needs no lock";
  EXPECT_TRUE(busy.caches[0].busy);
}

TEST(GlibcHeap, EndsForThreadsWhosePointerIsTheLastAddress) {
  GlibcForTest heap;
  std::vector<ThreadState> threads(2);
  threads[0].registers[ThreadState::FsBase] = ~std::uint64_t{};
  threads[1].registers[ThreadState::FsBase] = 3;
  GlibcFacts facts;
  facts.threads = threads;
  facts.static_tls = ~std::uint64_t{};
  const MemoryImage image(heap.pages.runs(), heap.pages);
  EXPECT_EQ(check_glibc_heap(image, BlockRanks::of({}).value(), facts).caches.size(), 2u);
}

TEST(GlibcHeap, EndsWhateverTheMemorySays) {
  GlibcForTest heap;
  std::uint64_t seed = 1;
  for (std::uint64_t at = 0; at < 0x3000; at += 8) {
    seed = seed * 6364136223846793005 + 1442695040888963407;
    heap.pages.put_word(kHeap + 0x290 + at, seed >> 62 == 0 ? kHeap + (seed >> 20) % 0x3000 : seed >> (seed >> 58));
  }
  for (std::uint64_t i = 0; i < 40; ++i) heap.add(0x40, true);
  heap.link_bin(5, {kHeap + 0x300});
  for (std::uint64_t at = 0; at < 0x3000; at += 24)
    heap.pages.put_word(kHeap + 0x290 + at, kHeap + 0x290 + at / 2 * 16 % 0x3000);
  EXPECT_LE(heap.check().problems.size(), HeapCheck::kMostProblems);
}

} // namespace
} // namespace heaptape
