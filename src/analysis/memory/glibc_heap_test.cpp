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
  HeapCheck check(bool allocating = false) {
    const std::uint64_t top = next_, end = (top + 2 * kPageBytes) & ~(kPageBytes - 1);
    for (std::uint64_t at = top; at < end; at += kPageBytes) pages.touch(at);
    pages.put_word(top + 8, (end - top) | (last_is_free_ ? 0 : 1));
    pages.put_word(kArena + GlibcArena::kTop, top);
    pages.put_word(kArena + GlibcArena::kSystemBytes, end - kHeap);
    std::vector<ThreadState> threads(1);
    threads[0].registers[ThreadState::FsBase] = kThread;
    GlibcFacts facts;
    facts.main_arena = kArena;
    facts.heap_begin = kHeap;
    facts.heap_end = end;
    facts.threads = threads;
    facts.may_be_allocating = [&](const ThreadState&) { return allocating; };
    facts.in_flight = in_flight;
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
  std::vector<std::uint64_t> in_flight;

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
  const ArenaCheck& arena = check.arenas[0];
  EXPECT_TRUE(arena.main);
  EXPECT_EQ(arena.state, HeapPartState::Sound);
  EXPECT_EQ(arena.chunks(), 9u);
  EXPECT_EQ(arena.blocks.chunks, 3u);
  EXPECT_EQ(arena.blocks.bytes, 0xb0u);
  EXPECT_EQ(arena.block_bytes, 0xb0u - 3 * 8);
  EXPECT_EQ(arena.bins.chunks, 2u);
  EXPECT_EQ(arena.bins.bytes, 0x590u);
  EXPECT_EQ(arena.largest_free, 0x500u);
  EXPECT_EQ(arena.used_bins, 2u);
  EXPECT_EQ(arena.fast_bins.chunks, 1u);
  EXPECT_GT(arena.top_bytes, 0u);
  ASSERT_EQ(check.caches.size(), 1u);
  EXPECT_TRUE(check.caches[0].found);
  EXPECT_EQ(check.caches[0].free.chunks, 2u);
  EXPECT_EQ(check.caches[0].free.bytes, 0xa0u);
}

TEST(GlibcHeap, TheCacheIsFoundWhereTheVariablesOfManyLibrariesLieInBetween) {
  GlibcForTest heap;
  heap.pages.put_word(kThread - 64, 0);
  EXPECT_FALSE(heap.check().caches[0].found);
  heap.pages.put_word(kThread - 20'000, kHeap + 16);
  for (std::uint64_t at = kThread - 20'000; at < kThread; at += kPageBytes) heap.pages.touch(at);
  EXPECT_TRUE(heap.check().caches[0].found);
}

TEST(GlibcHeap, ReadsLinksOfOlderVersions) {
  GlibcForTest heap;
  const std::uint64_t a = heap.add(0x50), b = heap.add(0x50);
  heap.link_cache(0x50, {a, b}, false);
  const HeapCheck check = heap.check();
  EXPECT_TRUE(check.problems.empty());
  EXPECT_EQ(check.caches[0].free.chunks, 2u);
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
  EXPECT_EQ(check.problems[0].chunk, hurt);
  EXPECT_EQ(check.problems[0].place, hurt + 8);
  EXPECT_EQ(check.problems[0].value, 0x4141414141414141u);
  EXPECT_EQ(check.problems[0].block_before, 1u);
  EXPECT_EQ(check.problems[0].block_behind, 2u);
  EXPECT_EQ(check.arenas[0].state, HeapPartState::Damaged);
  EXPECT_EQ(check.arenas[0].problems, 1u);
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
    EXPECT_EQ(heap.problems(), (Kinds{HeapProblemKind::ListSize}));
  }
}

TEST(GlibcHeap, NamesTheRightBlockWhenOneByteTooManyWasWritten) {
  for (const std::uint64_t size : {0x41u, 0x100u, 0x0u, 0x401u}) { // smaller, the flag gone, all gone, larger
    GlibcForTest heap;
    heap.add(0x40, true);
    heap.add(0x40, true);
    const std::uint64_t hurt = heap.add(0x100, true);
    heap.pages.put_text(hurt + 0x30, "what the block held");
    heap.add(0x40, true);
    heap.add(0x40, true);
    heap.add(0x500, true);
    heap.pages.put_word(hurt + 8, size);
    const HeapCheck check = heap.check();
    ASSERT_EQ(check.problems.size(), 1u) << size;
    EXPECT_EQ(check.problems[0].kind, size == 0x100 ? HeapProblemKind::InUseFlag : HeapProblemKind::ChunkSize) << size;
    EXPECT_EQ(check.problems[0].place, hurt + 8) << size;
    EXPECT_EQ(check.problems[0].block_before, 1u) << size;
    EXPECT_EQ(check.problems[0].block_behind, 2u) << size;
    EXPECT_FALSE(check.problems[0].in_free_memory) << size;
  }
}

TEST(GlibcHeap, FindsATopWhoseSizeWasWrittenOver) {
  GlibcForTest heap;
  heap.add(0x40, true);
  (void)heap.check();
  GlibcForTest other;
  const std::uint64_t top = other.add(0x40, true) + 0x40;
  EXPECT_TRUE(other.check().problems.empty());
  other.add(0x20); // as if the top were further on
  other.pages.put_word(top + 8, ~std::uint64_t{});
  const HeapCheck check = other.check();
  ASSERT_FALSE(check.problems.empty());
  EXPECT_EQ(check.problems[0].place, top + 8);
  EXPECT_EQ(check.problems[0].block_before, 0u);
}

TEST(GlibcHeap, FindsAChunkThatIsFreedTwice) {
  {
    GlibcForTest heap;
    const std::uint64_t a = heap.add(0x50), b = heap.add(0x50);
    heap.link_cache(0x50, {b, b, a, b});
    heap.pages.put_word(a + 16, (a + 16) >> 12 ^ (b + 16));
    heap.pages.put_word(b + 16, (b + 16) >> 12 ^ (a + 16));
    EXPECT_EQ(heap.problems(), Kinds{HeapProblemKind::FreedTwice});
  }
  {
    GlibcForTest heap;
    const std::uint64_t a = heap.add(0x50);
    heap.link_cache(0x50, {a, a});
    heap.pages.put_word(a + 16, (a + 16) >> 12 ^ (a + 16));
    EXPECT_EQ(heap.problems(), Kinds{HeapProblemKind::FreedTwice});
  }
  { // in a cache, and in a fast bin
    GlibcForTest heap;
    const std::uint64_t a = heap.add(0x50);
    heap.link_cache(0x50, {a});
    heap.pages.put_word(kArena + GlibcArena::kFastBins + 3 * 8, a);
    EXPECT_EQ(heap.problems(), Kinds{HeapProblemKind::FreedTwice});
  }
}

TEST(GlibcHeap, FindsAListThatWasCutOffByZerosInFreedMemory) {
  GlibcForTest heap;
  const std::uint64_t a = heap.add(0x50), b = heap.add(0x50), c = heap.add(0x60);
  heap.link_cache(0x60, {c});
  heap.link_cache(0x50, {a, b});
  heap.pages.put_word(b + 16, 0); // the last one: only its link is wrong
  const HeapCheck check = heap.check();
  ASSERT_EQ(check.problems.size(), 1u);
  EXPECT_EQ(check.problems[0].kind, HeapProblemKind::ListLink);
  EXPECT_EQ(check.problems[0].place, b + 16);
  EXPECT_TRUE(check.problems[0].in_free_memory);
}

TEST(GlibcHeap, FindsAFreeChunkThatIsInNoList) {
  GlibcForTest heap;
  const std::uint64_t a = heap.add(0x90, false, true);
  heap.add(0x40, true);
  const std::uint64_t b = heap.add(0x90, false, true);
  heap.add(0x40, true);
  heap.link_bin(9, {a});
  const HeapCheck check = heap.check();
  ASSERT_EQ(check.problems.size(), 1u);
  EXPECT_EQ(check.problems[0].kind, HeapProblemKind::NotInList);
  EXPECT_EQ(check.problems[0].chunk, b);
}

TEST(GlibcHeap, FindsLiveBlocksThatAreFreeOrDoNotFit) {
  {
    GlibcForTest heap;
    heap.add(0x40, true);
    heap.add(0x40, true);
    heap.blocks.back().size = 0x100;
    EXPECT_EQ(heap.problems(), Kinds{HeapProblemKind::ChunkSize});
    heap.in_flight = {heap.blocks.back().address};
    EXPECT_EQ(heap.problems(), Kinds{}) << "a realloc was just making it smaller";
  }
  {
    GlibcForTest heap;
    const std::uint64_t cached = heap.add(0x50, true);
    heap.link_cache(0x50, {cached});
    EXPECT_EQ(heap.problems(), Kinds{HeapProblemKind::LiveBlockIsFree});
    heap.in_flight = {cached + 16};
    EXPECT_EQ(heap.problems(), Kinds{}) << "a realloc was just moving it";
  }
}

TEST(GlibcHeap, FindsFreeChunksThatDisagreeWithTheirNeighbours) {
  GlibcForTest heap;
  const std::uint64_t a = heap.add(0x90, false, true);
  const std::uint64_t b = heap.add(0x90, false, true);
  heap.add(0x40, true);
  heap.link_bin(9, {a, b});
  heap.pages.put_word(a + 0x90, 0x80);
  EXPECT_EQ(heap.problems(), (Kinds{HeapProblemKind::PreviousSize, HeapProblemKind::FreeNeighbours}));
}

TEST(GlibcHeap, GoesOnBehindMemoryThatSomebodyElseTookByBrk) {
  GlibcForTest heap;
  heap.add(0x40, true);
  heap.add(0x10); // posts
  heap.add(0x10);
  heap.pages.put_text(heap.add(0x1000), "what somebody else keeps there");
  heap.add(0x40, true);
  heap.add(0x40, true);
  const HeapCheck check = heap.check();
  EXPECT_TRUE(check.problems.empty());
  EXPECT_EQ(check.arenas[0].state, HeapPartState::NotWalked);
  EXPECT_EQ(check.arenas[0].blocks.chunks, 3u);
}

TEST(GlibcHeap, KnowsBlocksWithAMappingOfTheirOwn) {
  constexpr std::uint64_t kMapping = 0x7200'0000'0000;
  GlibcForTest heap;
  heap.pages.touch(kMapping);
  heap.pages.put_word(kMapping + 8, 0x40002);
  heap.blocks.push_back({kMapping + 16, 0x3fff0, 1});
  const HeapCheck check = heap.check();
  EXPECT_TRUE(check.problems.empty());
  EXPECT_EQ(check.mapped.chunks, 1u);
  EXPECT_EQ(check.mapped.bytes, 0x40000u);
  EXPECT_EQ(check.elsewhere.chunks, 0u);
  heap.pages.put_word(kMapping + 8, 0x40041);
  EXPECT_EQ(heap.problems(), Kinds{HeapProblemKind::ChunkSize});
}

TEST(GlibcHeap, IsNotJudgedWhileItIsBeingChanged) {
  GlibcForTest heap;
  const std::uint64_t cached = heap.add(0x50), chunk = heap.add(0x40, true);
  heap.link_cache(0x50, {cached});
  EXPECT_EQ(heap.check(true).arenas[0].state, HeapPartState::Sound) << "it was looked at all the same";
  heap.pages.put_word(chunk + 8, 1);
  heap.pages.put_word(cached + 16, 1);
  const HeapCheck changing = heap.check(true);
  EXPECT_TRUE(changing.problems.empty());
  EXPECT_EQ(changing.arenas[0].state, HeapPartState::Changing);
  EXPECT_EQ(changing.caches[0].state, HeapPartState::Changing);
  heap.pages.put_word(kArena, 1);
  EXPECT_EQ(heap.check().arenas[0].state, HeapPartState::Damaged) << "who holds the lock does not go on";
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
