#include "analysis/memory/reachability.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>

#include "analysis/memory/heap_for_test.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kGlobals = 0x1'0000, kStack = 0x7ffe'0000'0000;

// A heap, variables and a stack.
struct ReachForTest {
  HeapForTest heap;
  std::uint64_t next_global = kGlobals, next_slot = kStack + 0x800;
  std::vector<MappedRange> regions{{kGlobals, kGlobals + 0x4000, 0, 1, kMapRead | kMapWrite},
                                   {kStack, kStack + 0x2000, 0, 2, kMapRead | kMapWrite}};
  std::vector<std::string> names{"", "/bin/victim", "[stack]"};
  std::vector<ThreadState> threads{1};
  GraphOptions graph_options{};
  std::vector<RootArea> stacks{};
  MakerOf maker_of{};

  void global(std::uint32_t block, std::uint64_t inside = 0) {
    heap.pages.put_word(next_global, heap.at(block, inside));
    next_global += 8;
  }
  void slot(std::uint32_t block) {
    heap.pages.put_word(next_slot, heap.at(block));
    next_slot += 8;
  }
  Reachability reach(const ReachOptions& options = {}) {
    threads[0].registers[ThreadState::Rsp] = kStack + 0x800;
    RootFacts facts;
    facts.regions = regions;
    facts.names = names;
    facts.threads = threads;
    facts.stacks = stacks;
    const Roots roots = Roots::of(facts, heap.image(), heap.ranks(), graph_options.form);
    ReferenceGraph graph = heap.graph(graph_options);
    const HeapView view{heap.image(), heap.ranks(), graph, roots, threads};
    const KnownPlaces known = KnownPlaces::of(view, vtables_in(regions, names), maker_of);
    if (!options.strict) known.mark(heap.ranks(), graph);
    return Reachability::of(view, known, options);
  }
  // R, P, D, I for each block in turn.
  std::string classes(const ReachOptions& options = {}) {
    const Reachability result = reach(options);
    std::string letters;
    for (std::uint32_t i = 0; i < heap.blocks.size(); ++i)
      letters += "RPDI"[static_cast<std::size_t>(result.class_of(i))];
    return letters;
  }
};

TEST(Reachability, TellsTheNineCasesOfMemcheckApart) {
  ReachForTest test;
  HeapForTest& heap = test.heap;
  std::vector<std::uint32_t> a(10), b(10); // a chain per case; 1, 3 and 5 have one block, a, only
  for (std::size_t i = 1; i <= 9; ++i) {
    a[i] = heap.add(16);
    if (i != 1 && i != 3 && i != 5) b[i] = heap.add(16);
  }
  const std::uint64_t inside = 8;
  test.global(a[1]);
  test.global(a[2]);
  heap.point(a[2], 0, b[2]);
  heap.point(a[4], 0, b[4]);
  test.global(a[5], inside);
  test.global(a[6]);
  heap.point(a[6], 0, b[6], inside);
  test.global(a[7], inside);
  heap.point(a[7], 0, b[7]);
  test.global(a[8], inside);
  heap.point(a[8], 0, b[8], inside);
  heap.point(a[9], 0, b[9], inside);
  EXPECT_EQ(test.classes({.strict = true}), "R"
                                            "RR"
                                            "D"
                                            "DI"
                                            "P"
                                            "RP"
                                            "PP"
                                            "PP"
                                            "DI");
  const Reachability reach = test.reach({.strict = true});
  EXPECT_EQ(reach.totals(LeakClass::Possibly).bytes, 6u * 16);
  EXPECT_EQ(reach.leaders().size(), 3u);
}

TEST(Reachability, CountsALostTreeForItsTop) {
  ReachForTest test;
  HeapForTest& heap = test.heap;
  // Like memcheck's leak-tree: a tree of eleven, lost from its top, and one that hangs below a variable.
  std::vector<std::uint32_t> nodes;
  for (int i = 0; i < 11; ++i) nodes.push_back(heap.add(16));
  const std::vector<std::vector<std::uint32_t>> children{{1, 2},  {3, 5}, {4, 6}, {}, {7, 9}, {},
                                                         {8, 10}, {},     {},     {}, {}};
  for (std::uint32_t i = 0; i < 11; ++i) {
    for (std::uint64_t k = 0; k < children[i].size(); ++k) heap.point(nodes[10 - i], k * 8, nodes[10 - children[i][k]]);
  }
  const std::uint32_t kept = heap.add(16), below = heap.add(16);
  heap.point(kept, 0, below);
  test.global(kept);
  const Reachability reach = test.reach({.strict = true});
  ASSERT_EQ(reach.leaders().size(), 1u);
  EXPECT_EQ(reach.leaders()[0].block, nodes[10]) << "the top has the highest address here";
  EXPECT_EQ(reach.leaders()[0].indirect.blocks, 10u);
  EXPECT_EQ(reach.leaders()[0].indirect.bytes, 160u);
  EXPECT_EQ(reach.leader_of(nodes[0]), nodes[10]);
  EXPECT_EQ(reach.totals(LeakClass::Reachable).blocks, 2u);
}

TEST(Reachability, HasOneLeaderForACycleAndForCyclesThatHangTogether) {
  ReachForTest test;
  HeapForTest& heap = test.heap;
  const auto cycle = [&] {
    const std::uint32_t a = heap.add(16), b = heap.add(16), c = heap.add(16);
    heap.point(b, 0, a);
    heap.point(c, 0, b);
    heap.point(a, 0, c);
    return a;
  };
  const std::uint32_t alone = cycle(), first = cycle(), second = cycle(), third = cycle();
  heap.point(second, 8, first);
  heap.point(third, 8, second + 1); // not to the one with the lowest address
  const Reachability reach = test.reach({.strict = true});
  ASSERT_EQ(reach.leaders().size(), 2u);
  EXPECT_EQ(reach.leaders()[0].block, alone);
  EXPECT_EQ(reach.leaders()[0].indirect.blocks, 2u);
  EXPECT_EQ(reach.leaders()[1].block, third);
  EXPECT_EQ(reach.leaders()[1].indirect.blocks, 8u);
  EXPECT_EQ(test.classes(), "DIIIIIIIIDII");
}

TEST(Reachability, AgreesWithSearchesFromEachLostBlock) {
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    ReachForTest test;
    const auto count = static_cast<std::uint32_t>(2 + random() % 40);
    for (std::uint32_t i = 0; i < count; ++i) test.heap.add(64);
    std::vector<std::set<std::uint32_t>> to(count);
    for (std::uint64_t i = 0, edges = random() % (2 * count); i < edges; ++i) {
      const auto from = static_cast<std::uint32_t>(random() % count),
                 target = static_cast<std::uint32_t>(random() % count);
      test.heap.point(from, random() % 8 * 8, target);
    }
    const auto root = static_cast<std::uint32_t>(random() % count);
    test.global(root);
    const ReferenceGraph graph = test.heap.graph();
    for (std::uint32_t i = 0; i < count; ++i) to[i].insert(graph.targets(i).begin(), graph.targets(i).end());
    const auto from = [&](std::uint32_t start) {
      std::set<std::uint32_t> seen{start};
      for (std::vector<std::uint32_t> queue{start}; !queue.empty();) {
        const std::uint32_t block = queue.back();
        queue.pop_back();
        for (const std::uint32_t target : to[block]) {
          if (seen.insert(target).second) queue.push_back(target);
        }
      }
      return seen;
    };
    const std::set<std::uint32_t> reached = from(root);
    const Reachability reach = test.reach();
    for (std::uint32_t i = 0; i < count; ++i) {
      bool led = false; // by a block that it does not lead to in turn, or one of its cycle with a lower address
      for (std::uint32_t k = 0; k < count; ++k) {
        if (k != i && !reached.contains(k) && from(k).contains(i)) led = led || !from(i).contains(k) || k < i;
      }
      const LeakClass expected = reached.contains(i) ? LeakClass::Reachable
                                 : led               ? LeakClass::Indirectly
                                                     : LeakClass::Definitely;
      ASSERT_EQ(reach.class_of(i), expected) << "round " << round << " block " << i;
    }
  }
}

TEST(Reachability, NamesWhatOnlyStacksHold) {
  ReachForTest test;
  const std::uint32_t a = test.heap.add(16), b = test.heap.add(16), c = test.heap.add(16);
  test.global(a);
  test.slot(a);
  test.slot(b);
  test.heap.point(b, 0, c);
  const Reachability reach = test.reach();
  EXPECT_FALSE(reach.only_from_stacks(a));
  EXPECT_TRUE(reach.only_from_stacks(b));
  EXPECT_TRUE(reach.only_from_stacks(c));
  EXPECT_EQ(reach.only_from_stacks().blocks, 2u);
  EXPECT_EQ(test.classes({.stacks = false}), "RDI");
}

TEST(Reachability, CallsTheInsideOfABlockKnownWhenProgramsPointThereOnPurpose) {
  ReachForTest test;
  HeapForTest& heap = test.heap;
  heap.pages.put_word(0x1'3000, 0); // where tables of functions lie
  std::map<std::string, std::uint32_t> blocks;
  test.global(blocks["flag"] = heap.add(64), 1);
  test.global(blocks["array"] = heap.add(8 + 5 * 24), 8);
  heap.pages.put_word(heap.at(blocks["array"]), 5);
  test.global(blocks["length"] = heap.add(100), 8);
  heap.pages.put_word(heap.at(blocks["length"]), 92);
  test.global(blocks["string"] = heap.add(24 + 41), 24);
  heap.pages.put_word(heap.at(blocks["string"]), 30);
  heap.pages.put_word(heap.at(blocks["string"], 8), 40);
  test.global(blocks["base"] = heap.add(64), 24);
  heap.pages.put_word(heap.at(blocks["base"]), 0x1'3010);
  heap.pages.put_word(heap.at(blocks["base"], 24), 0x1'3050);
  for (const std::uint64_t inside : std::initializer_list<std::uint64_t>{16, 96, 128}) {
    const std::uint32_t thrown = blocks["thrown" + std::to_string(inside)] = heap.add(160);
    test.global(thrown, inside);
    heap.pages.put_word(heap.at(thrown, 96), 0x474e'5543'432b'2b01); // "GNUCC++", and how it is counted
  }
  for (int i = 0; i < 16; ++i) test.global(blocks["habit" + std::to_string(i)] = heap.add(80, 7), 11);
  std::map<std::string, std::uint32_t> others;
  for (int i = 0; i < 15; ++i) test.global(others["few" + std::to_string(i)] = heap.add(80, 8), 11);
  test.global(others["plain"] = heap.add(64), 32);
  test.global(others["not_thrown"] = heap.add(160), 128);
  const Reachability reach = test.reach(), strict = test.reach({.strict = true});
  for (const auto& [name, block] : blocks) {
    EXPECT_EQ(reach.strength(block), PathStrength::KnownInside) << name;
    EXPECT_EQ(reach.class_of(block), LeakClass::Reachable) << name;
    EXPECT_EQ(strict.class_of(block), LeakClass::Possibly) << name;
  }
  for (const auto& [name, block] : others) EXPECT_EQ(reach.class_of(block), LeakClass::Possibly) << name;
}

TEST(Reachability, KnowsHabitsOfAFunctionThatIsCalledFromManyPlaces) {
  ReachForTest test;
  constexpr std::uint32_t kUnknown = 99;
  test.maker_of = [](std::uint32_t group) { return group == kUnknown ? 0 : std::uint64_t{group % 2 + 0x1000}; };
  const auto add = [&](int count, std::uint64_t bytes, std::uint64_t inside, std::uint32_t group, bool same_group) {
    for (int i = 0; i < count; ++i, group += same_group ? 0 : 2) test.global(test.heap.add(bytes, group), inside);
  };
  add(16, 128, 24, 2, false);
  add(15, 128, 24, 3, false); // of another function
  add(1, 96, 24, 4, false);   // of another size
  add(1, 128, 32, 4, false);  // elsewhere
  add(15, 64, 24, kUnknown, true);
  EXPECT_EQ(test.classes(), std::string(16, 'R') + std::string(15 + 2 + 15, 'P'));
}

TEST(Reachability, KnowsTheInsideOfABlockAlsoBySecondReferences) {
  ReachForTest test;
  const std::uint32_t block = test.heap.add(200);
  test.global(block, 40);
  test.global(block, 64);
  test.heap.point(block, 56, block);
  EXPECT_EQ(test.classes(), "R");
}

TEST(Reachability, KnowsTheTableOfAThreadsVariables) {
  ReachForTest test;
  const std::uint32_t table = test.heap.add(320);
  test.threads[0].registers[ThreadState::FsBase] = kGlobals + 0x2000;
  test.heap.pages.put_word(kGlobals + 0x2008, test.heap.at(table, 16));
  EXPECT_EQ(test.classes(), "R");
}

TEST(Reachability, KnowsTheTableOfAThreadWhoseStackIsABlock) {
  ReachForTest test;
  const std::uint32_t stack = test.heap.add(8192), table = test.heap.add(320);
  test.global(stack);
  test.threads[0].registers[ThreadState::FsBase] = test.heap.at(stack, 6000);
  test.heap.point(stack, 6008, table, 16);
  EXPECT_EQ(test.classes(), "RR");
}

TEST(Reachability, KnowsAnArrayWithoutElementsByTheWordBehindItsCount) {
  ReachForTest test;
  const std::uint32_t empty = test.heap.add(8), not_empty = test.heap.add(8), larger = test.heap.add(16);
  test.global(empty, 8);
  test.global(not_empty, 8);
  test.global(larger, 16);
  test.heap.pages.put_word(test.heap.at(not_empty), 1);
  EXPECT_EQ(test.classes(), "RPP");
  EXPECT_EQ(test.classes({.strict = true}), "DDD");
}

TEST(Reachability, TakesTheStrongestOfSeveralPaths) {
  ReachForTest test;
  const std::uint32_t a = test.heap.add(64), b = test.heap.add(64), c = test.heap.add(64);
  test.global(c, 32);
  test.global(a);
  test.heap.point(a, 0, b);
  test.heap.point(b, 0, c);
  test.heap.point(c, 0, b, 40);
  EXPECT_EQ(test.classes({.strict = true}), "RRR");
}

TEST(Reachability, LooksASecondTimeForWordsThatAreNotAlignedOrLeadBehindABlock) {
  ReachForTest test;
  HeapForTest& heap = test.heap;
  const std::uint32_t packed = heap.add(64), below = heap.add(64), ended = heap.add(1160), hidden = heap.add(64),
                      lost = heap.add(64), kept = heap.add(64), in_kept = heap.add(64), by_lost = heap.add(64);
  heap.pages.put_word(kGlobals + 0x101, heap.at(packed));
  heap.point(packed, 0, below);
  heap.pages.put_word(kGlobals + 0x200, heap.at(ended) + 1160);
  heap.pages.put_word(heap.at(below, 3), heap.at(hidden)); // found only when `below` was
  test.global(kept);
  heap.pages.put_word(heap.at(kept, 13), heap.at(in_kept));
  heap.pages.put_word(heap.at(lost, 13), heap.at(by_lost));
  EXPECT_EQ(test.classes(), "PPPPDRPD");
  EXPECT_EQ(test.classes({.strict = true}), "DIDDDRDD");
  EXPECT_EQ(test.reach().strength(below), PathStrength::Doubtful);
}

TEST(Reachability, DoesNotTakeTheNextBlockForTheEndOfTheOneBefore) {
  ReachForTest test;
  test.heap.blocks = {{0x5000'0000'1000, 64, 0}, {0x5000'0000'1040, 64, 0}};
  test.heap.pages.touch(0x5000'0000'1000);
  test.global(1);
  EXPECT_EQ(test.classes(), "DR");
}

TEST(Reachability, FollowsDisguisedPointersFromRootsAndBlocks) {
  ReachForTest test;
  const std::uint32_t a = test.heap.add(64), b = test.heap.add(64);
  test.heap.pages.put_word(kGlobals, test.heap.at(a) | std::uint64_t{0x5a} << 56);
  test.heap.pages.put_word(test.heap.at(a), test.heap.at(b) | std::uint64_t{0xff} << 56);
  EXPECT_EQ(test.classes(), "DD");
  test.graph_options.form.mask = ~std::uint64_t{} >> 8;
  EXPECT_EQ(test.classes(), "RR");
}

TEST(Reachability, CountsABlockThatAReallocWasMovingAsReachable) {
  ReachForTest test;
  const std::uint32_t a = test.heap.add(64), b = test.heap.add(64);
  test.heap.point(a, 8, b);
  const std::vector<std::uint64_t> moving{test.heap.at(a), 0x12345};
  EXPECT_EQ(test.classes({.in_use = moving}), "RR");
}

TEST(Reachability, GoesThroughListsOfAnyLengthWithoutRecursion) {
  ReachForTest test;
  constexpr std::uint32_t kNodes = 100'000;
  for (std::uint32_t i = 0; i < kNodes; ++i) test.heap.blocks.push_back({HeapForTest::kHeap + i * 32, 16, 0});
  for (std::uint32_t i = 0; i + 1 < kNodes; ++i) test.heap.point(i, 0, i + 1);
  const Reachability lost = test.reach({.second_look = false});
  ASSERT_EQ(lost.leaders().size(), 1u);
  EXPECT_EQ(lost.leaders()[0].indirect.blocks, kNodes - 1);
}

TEST(Reachability, FollowsPointersIntoBlocksThatWereAlignedByHand) {
  ReachForTest test;
  HeapForTest& heap = test.heap;
  const auto before = heap.add(200), inside = heap.add(200), not_aligned = heap.add(200);
  test.global(before, 64);
  heap.point(before, 56, before);
  test.global(inside, 32);
  heap.point(inside, 40, inside);
  test.global(not_aligned, 64);
  heap.point(not_aligned, 120, not_aligned);
  EXPECT_EQ(test.classes(), "RRP");
}

TEST(Reachability, KeepsTheTableOfVariablesOfAThreadThatHasEndedAndNothingElse) {
  ReachForTest test;
  HeapForTest& heap = test.heap;
  const auto table = heap.add(304), variable = heap.add(48);
  constexpr std::uint64_t kEnded = 0x7f00'0000'0000, kBlock = kEnded + 0x2000 - 0x940;
  test.regions.insert(test.regions.begin() + 1, {kEnded, kEnded + 0x2000, 0, 0, kMapRead | kMapWrite});
  heap.pages.put_word(kBlock, kBlock);
  heap.pages.put_word(kBlock + 8, heap.at(table, 16));
  heap.pages.put_word(kBlock + 16, kBlock);
  heap.pages.put_word(kBlock - 64, heap.at(variable));
  EXPECT_EQ(test.classes(), "RR") << "it is not known to be a stack";
  test.stacks.push_back({kEnded, kEnded + 0x2000});
  EXPECT_EQ(test.classes(), "RD");
}

} // namespace
} // namespace heaptape
