#include "analysis/memory/roots.h"

#include <gtest/gtest.h>

#include <string>

#include "analysis/memory/glibc_arena.h"
#include "analysis/memory/heap_for_test.h"

namespace heaptape {
namespace {

constexpr std::uint8_t kRw = kMapRead | kMapWrite;

// A program with regions in which words are put that lead to blocks.
class ProgramForTest {
public:
  std::uint32_t region(std::uint64_t begin, std::uint64_t end, std::uint8_t permissions, const std::string& name = {}) {
    regions.push_back({begin, end, 0, names.number_of(name), permissions});
    return static_cast<std::uint32_t>(regions.size() - 1);
  }
  // A new block, the address of which is put there.
  std::uint32_t held_by(std::uint64_t address, std::uint64_t inside = 0) {
    const std::uint32_t block = heap.add(64);
    heap.pages.put_word(address, heap.at(block, inside));
    return block;
  }
  ThreadState& thread(std::uint64_t rsp, std::uint64_t fs) {
    ThreadState& made = threads.emplace_back();
    made.registers[ThreadState::Rsp] = rsp;
    made.registers[ThreadState::FsBase] = fs;
    return made;
  }
  Roots roots() {
    facts.regions = regions;
    facts.names = names.texts();
    facts.threads = threads;
    return Roots::of(facts, heap.image(), heap.ranks());
  }
  // How a block is held: the letters of all kinds of roots that lead to it.
  std::string holders(const Roots& roots, std::uint32_t block) {
    std::string kinds;
    for (const RootWord& word : roots.words()) {
      if (word.block == block) kinds += "RSTGMHCN"[static_cast<std::size_t>(roots.ranges()[word.range].kind)];
    }
    return kinds;
  }

  HeapForTest heap;
  std::vector<MappedRange> regions;
  MapNames names;
  std::vector<ThreadState> threads;
  RootFacts facts;
};

TEST(Roots, AreVariablesMappingsSharedMemoryAndCode) {
  ProgramForTest program;
  program.region(0x10000, 0x11000, kMapRead | kMapExecute, "/bin/victim");
  program.region(0x11000, 0x12000, kMapRead, "/bin/victim");
  program.region(0x12000, 0x13000, kRw, "/bin/victim");
  program.region(0x13000, 0x14000, kRw);
  program.region(0x20000, 0x21000, kRw, "[heap]");
  program.region(0x30000, 0x31000, kRw);
  program.region(0x40000, 0x41000, kRw | kMapShared, "/dev/zero (deleted)");
  program.region(0x50000, 0x51000, kMapRead | kMapExecute);
  program.region(0x60000, 0x61000, kRw, "/memfd:heaptape (deleted)");
  program.region(0x70000, 0x71000, kRw, "/usr/lib/libheaptape.so");
  program.region(0x71000, 0x72000, kRw);
  program.region(0x80000, 0x81000, kRw, "/usr/lib/libjemalloc.so.2");
  program.region(0x81000, 0x82000, kRw);
  program.region(0x90000, 0x91000, kRw, "[vvar]");
  const std::uint32_t code = program.held_by(0x10008), relocated = program.held_by(0x11008),
                      data = program.held_by(0x12008), bss = program.held_by(0x13008, 8),
                      heap = program.held_by(0x20008), own = program.held_by(0x30008),
                      shared = program.held_by(0x40008), jit = program.held_by(0x50003),
                      memfd = program.held_by(0x60008), recorder = program.held_by(0x70008),
                      recorder_bss = program.held_by(0x71008), allocator = program.held_by(0x80008),
                      allocator_bss = program.held_by(0x81008), kernel = program.held_by(0x90008),
                      unaligned = program.held_by(0x30013);
  const Roots roots = program.roots();
  for (const std::uint32_t none :
       {code, heap, memfd, recorder, recorder_bss, allocator, allocator_bss, kernel, unaligned})
    EXPECT_EQ(program.holders(roots, none), "") << none;
  EXPECT_EQ(program.holders(roots, relocated), "G");
  EXPECT_EQ(program.holders(roots, data), "G");
  EXPECT_EQ(program.holders(roots, bss), "G");
  EXPECT_EQ(program.holders(roots, own), "M");
  EXPECT_EQ(program.holders(roots, shared), "H");
  EXPECT_EQ(program.holders(roots, jit), "C");
  for (const RootWord& word : roots.words()) {
    if (word.block != bss) continue;
    EXPECT_EQ(word.address, 0x13008u);
    EXPECT_EQ(word.offset, 8u);
    EXPECT_EQ(roots.ranges()[word.range].region, 2u) << "zeroed variables are the module's";
    EXPECT_FALSE(roots.is_weak(word));
  }
}

TEST(Roots, AreStacksFromTheRedZoneUpAndVariablesOfThreads) {
  ProgramForTest program;
  program.region(0x7000'0000'0000, 0x7000'0000'1000, 0);
  program.region(0x7000'0000'1000, 0x7000'0000'4000, kRw); // of a thread: stack, then variables
  program.region(0x7100'0000'0000, 0x7100'0000'1000, kRw); // variables of the first thread
  program.region(0x7ffe'0000'0000, 0x7ffe'0000'2000, kRw, "[stack]");
  program.thread(0x7ffe'0000'1000, 0x7100'0000'0800);
  program.thread(0x7000'0000'2000, 0x7000'0000'3700);
  const std::uint32_t below = program.held_by(0x7ffe'0000'0f78), red = program.held_by(0x7ffe'0000'0f80),
                      frame = program.held_by(0x7ffe'0000'1ff8), thread_below = program.held_by(0x7000'0000'1ff8 - 128),
                      thread_frame = program.held_by(0x7000'0000'2008), variable = program.held_by(0x7000'0000'36f0),
                      key = program.held_by(0x7000'0000'3a00), main_variable = program.held_by(0x7100'0000'07f8);
  const Roots roots = program.roots();
  EXPECT_EQ(program.holders(roots, below), "");
  EXPECT_EQ(program.holders(roots, red), "S");
  EXPECT_EQ(program.holders(roots, frame), "S");
  EXPECT_EQ(program.holders(roots, thread_below), "");
  EXPECT_EQ(program.holders(roots, thread_frame), "S");
  EXPECT_EQ(program.holders(roots, variable), "T");
  EXPECT_EQ(program.holders(roots, key), "T");
  EXPECT_EQ(program.holders(roots, main_variable), "T");
  for (const RootWord& word : roots.words()) {
    if (word.block == thread_frame) {
      EXPECT_EQ(roots.ranges()[word.range].thread, 1u);
    }
  }
}

TEST(Roots, AreRegistersAlsoTheWideOnes) {
  ProgramForTest program;
  program.region(0x7ffe'0000'0000, 0x7ffe'0000'1000, kRw, "[stack]");
  const std::uint32_t general = program.heap.add(64), xmm = program.heap.add(64), ymm = program.heap.add(64),
                      header = program.heap.add(64), flags = program.heap.add(64);
  ThreadState& thread = program.thread(0x7ffe'0000'0800, 0);
  thread.registers[ThreadState::R12] = program.heap.at(general);
  thread.registers[ThreadState::GsBase] = program.heap.at(flags);
  thread.extended.resize(832);
  const auto put = [&](std::size_t at, std::uint64_t word) { std::memcpy(&thread.extended[at], &word, sizeof word); };
  put(160 + 9 * 16, program.heap.at(xmm));
  put(576 + 3 * 16 + 8, program.heap.at(ymm, 4));
  put(520, program.heap.at(header));
  const Roots roots = program.roots();
  EXPECT_EQ(program.holders(roots, general), "R");
  EXPECT_EQ(program.holders(roots, xmm), "R");
  EXPECT_EQ(program.holders(roots, ymm), "R");
  EXPECT_EQ(program.holders(roots, header), "");
  EXPECT_EQ(program.holders(roots, flags), "");
  for (const RootWord& word : roots.words()) {
    EXPECT_TRUE(roots.is_weak(word));
    if (word.block == xmm) {
      EXPECT_EQ(word.address, kExtendedRegisters + 160 + 9 * 16);
    }
  }
}

TEST(Roots, TakeAllOfAStackThatIsNotTheThreadsOwn) {
  ProgramForTest program;
  program.region(0x6000'0000'0000, 0x6000'0001'0000, kRw); // a coroutine's
  program.region(0x7000'0000'0000, 0x7000'0000'1000, 0);
  program.region(0x7000'0000'1000, 0x7000'0000'4000, kRw);
  program.region(0x7ffe'0000'0000, 0x7ffe'0000'1000, kRw, "[stack]");
  program.thread(0x6000'0000'8000, 0x7000'0000'3700);
  const std::uint32_t below = program.held_by(0x6000'0000'0008), own = program.held_by(0x7000'0000'1008),
                      main = program.held_by(0x7ffe'0000'0008);
  const Roots roots = program.roots();
  EXPECT_EQ(program.holders(roots, below), "S");
  EXPECT_EQ(program.holders(roots, own), "S");
  EXPECT_EQ(program.holders(roots, main), "S");
}

TEST(Roots, KeepABlockAliveInWhichAThreadHasItsStack) {
  ProgramForTest program;
  const std::uint32_t stack = program.heap.add(4096);
  program.region(program.heap.kHeap, program.heap.kHeap + 0x10000, kRw, "[heap]");
  program.thread(program.heap.at(stack, 2000), 0);
  EXPECT_EQ(program.holders(program.roots(), stack), "R");
}

TEST(Roots, AreAllOfTheFirstThreadsStackWhileItIsOnABlock) {
  ProgramForTest program;
  program.region(0x7ffe'0000'0000, 0x7ffe'0000'1000, kRw, "[stack]");
  program.facts.stacks = {{0x7ffe'0000'0000, 0x7ffe'0000'1000}};
  program.thread(program.heap.at(program.heap.add(4096), 2000), 0);
  const std::uint32_t held = program.held_by(0x7ffe'0000'0008);
  EXPECT_EQ(program.holders(program.roots(), held), "S");
}

TEST(Roots, AreVariablesBesideAStackThatLiesAmongThemAndTheThreadsOwnStack) {
  ProgramForTest program;
  program.region(0x12000, 0x13000, kRw, "/bin/victim");
  program.region(0x13000, 0x18000, kRw);
  program.region(0x7000'0000'0000, 0x7000'0000'1000, 0);
  program.region(0x7000'0000'1000, 0x7000'0000'4000, kRw);
  program.thread(0x15000, 0x7000'0000'3700);
  const std::uint32_t before = program.held_by(0x13008), frame = program.held_by(0x15008),
                      own = program.held_by(0x7000'0000'1008);
  const Roots roots = program.roots();
  EXPECT_EQ(program.holders(roots, before), "G");
  EXPECT_EQ(program.holders(roots, frame), "S");
  EXPECT_EQ(program.holders(roots, own), "S");
}

TEST(Roots, AreNotWordsBelowTheStackPointerOfAFunctionThatHasCalledAnother) {
  // Where a call does not return, the next instruction is another function's.
  for (const auto& [returns_to, holders] :
       {std::pair(0x400000, "S"), std::pair(0x401000, ""), std::pair(0x401001, "")}) {
    ProgramForTest program;
    program.region(0x7ffe'0000'0000, 0x7ffe'0000'2000, kRw, "[stack]");
    program.thread(0x7ffe'0000'1000, 0).registers[ThreadState::Rip] = 0x401000;
    const std::uint32_t below = program.held_by(0x7ffe'0000'0fe0), frame = program.held_by(0x7ffe'0000'1000);
    program.heap.pages.put_word(0x7ffe'0000'0ff8, static_cast<std::uint64_t>(returns_to));
    const Roots roots = program.roots();
    EXPECT_EQ(program.holders(roots, below), holders) << returns_to;
    EXPECT_EQ(program.holders(roots, frame), "S") << returns_to;
  }
}

TEST(Roots, AreNotTheAllocatorsMemoryNorStacksOfEndedThreads) {
  ProgramForTest program;
  program.region(0x6000'0000'0000, 0x6000'0004'0000, kRw);
  program.region(0x7000'0000'1000, 0x7000'0000'4000, kRw);
  program.facts.arenas = {{0x6000'0000'0000, 0x6000'0002'0000}};
  program.facts.stacks = {{0x7000'0000'1000, 0x7000'0000'4000}};
  program.facts.excluded = {{0x6000'0003'0000, 0x6000'0003'0010}};
  program.facts.named = {{0x6000'0001'0000, 0x6000'0001'0010}};
  const std::uint32_t arena = program.held_by(0x6000'0000'0008), own = program.held_by(0x6000'0002'0008),
                      ended = program.held_by(0x7000'0000'3000), excluded = program.held_by(0x6000'0003'0008),
                      named = program.held_by(0x6000'0001'0008);
  const Roots roots = program.roots();
  EXPECT_EQ(program.holders(roots, arena), "");
  EXPECT_EQ(program.holders(roots, own), "M");
  EXPECT_EQ(program.holders(roots, ended), "");
  EXPECT_EQ(program.holders(roots, excluded), "");
  EXPECT_EQ(program.holders(roots, named), "N");
}

TEST(Roots, AreTheProgramsOwnMappingsAlsoAroundBlocks) {
  ProgramForTest program;
  program.region(0x6000'0000'0000, 0x6000'0001'0000, kRw);
  program.region(0x6100'0000'0000, 0x6100'0001'0000, kRw);
  program.facts.own = {{0x6100'0000'0000, 0x6100'0001'0000}};
  const std::uint32_t free = program.held_by(0x6000'0000'0008), own = program.held_by(0x6100'0000'0008),
                      inside = program.held_by(0x6100'0000'0108);
  program.heap.blocks.push_back({0x6000'0000'0100, 64, 0});
  program.heap.blocks.push_back({0x6100'0000'0100, 64, 0});
  const Roots roots = program.roots();
  EXPECT_EQ(program.holders(roots, free), "") << "memory in which blocks lie is the allocator's";
  EXPECT_EQ(program.holders(roots, own), "M");
  EXPECT_EQ(program.holders(roots, inside), "") << "the contents of a block are no roots";
}

TEST(Roots, LeaveOutTheListsOfMalloc) {
  ProgramForTest program;
  program.region(0x7000'0000'0000, 0x7000'0000'2000, kRw, "/lib/libc.so.6");
  const std::uint64_t arena = 0x7000'0000'0c60, bins = arena + GlibcArena::kBins;
  for (std::uint64_t bin = 0; bin < GlibcArena::kBinCount; ++bin) {
    program.heap.pages.put_word(bins + bin * 16, bins + bin * 16 - 16);
    program.heap.pages.put_word(bins + bin * 16 + 8, bins + bin * 16 - 16);
  }
  program.heap.pages.put_word(arena + GlibcArena::kNext, arena);
  const std::uint32_t top = program.held_by(arena + GlibcArena::kTop), remainder = program.held_by(arena + 104),
                      in_bin = program.held_by(bins + 32), before = program.held_by(arena - 8),
                      behind = program.held_by(arena + GlibcArena::kBytes);
  program.held_by(bins + 40);
  const Roots roots = program.roots();
  EXPECT_EQ(program.holders(roots, top), "");
  EXPECT_EQ(program.holders(roots, remainder), "");
  EXPECT_EQ(program.holders(roots, in_bin), "");
  EXPECT_EQ(program.holders(roots, before), "G");
  EXPECT_EQ(program.holders(roots, behind), "G");
}

TEST(Roots, SurviveThreadsAndRangesThatMakeNoSense) {
  ProgramForTest program;
  program.region(0x1000, 0x3000, kRw, "[stack]");
  program.thread(~std::uint64_t{}, ~std::uint64_t{});
  program.thread(0, 0);
  program.thread(0x1000, 0x2000).extended.resize(3);
  program.thread(0x2000, 0x1000).stopped = false;
  program.facts.arenas = {{5, 2}, {0, ~std::uint64_t{}}};
  program.facts.stacks = {{0x2000, 0x1000}, {~std::uint64_t{} - 1, ~std::uint64_t{}}};
  program.facts.named = {{0, ~std::uint64_t{}}};
  program.facts.static_tls = ~std::uint64_t{};
  const std::uint32_t held = program.held_by(0x2008);
  EXPECT_EQ(program.holders(program.roots(), held), "N");
}

} // namespace
} // namespace heaptape
