#include "analysis/memory/borrowed_places.h"

#include <gtest/gtest.h>

#include "analysis/memory/heap_for_test.h"
#include "analysis/memory/reachability.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kGlobals = 0x1'0000, kFrames = 0x5'0000;

// Objects of CPython with links of the collector, and variables.
struct PythonForTest {
  HeapForTest heap;
  std::uint32_t type = heap.add(400);
  std::vector<MappedRange> regions{{kGlobals, kGlobals + 0x1000, 0, 1, kMapRead | kMapWrite},
                                   {kGlobals + 0x1000, kGlobals + 0x2000, 0, 0, kMapRead | kMapWrite},
                                   {kFrames, kFrames + 0x1000, 0, 0, kMapRead | kMapWrite}};
  std::vector<std::string> names{"", "/bin/victim"};
  RootFacts facts;
  std::uint64_t next_global = kGlobals;

  PythonForTest() { heap.be_type(type); }

  std::uint32_t object(std::uint64_t references) {
    const std::uint32_t made = heap.add(64);
    heap.pages.put_word(heap.at(made), kGlobals + 0x800); // head of a list
    heap.pages.put_word(heap.at(made, 8), kGlobals + 0x800);
    heap.pages.put_word(heap.at(made, 16), references);
    heap.point(made, 24, type);
    return made;
  }
  void global(std::uint32_t block, std::uint64_t inside) {
    heap.pages.put_word(next_global, heap.at(block, inside));
    next_global += 8;
  }
  Roots roots() {
    facts.regions = regions;
    facts.names = names;
    return Roots::of(facts, heap.image(), heap.ranks());
  }
  std::vector<std::uint64_t> borrowed() {
    const Roots found = roots();
    const ReferenceGraph graph = heap.graph({.cpython = true});
    return borrowed_places({heap.image(), heap.ranks(), graph, found});
  }
};

TEST(BorrowedPlaces, AreObjectsWhoseReferencesAreAllInBlocks) {
  PythonForTest test;
  const std::uint32_t holder = test.heap.add(64), whole = test.object(2), owned = test.object(2),
                      for_ever = test.object(0x4000'0000);
  for (const std::uint64_t at : {0U, 8U}) test.heap.point(holder, at, whole, 16);
  test.heap.point(holder, 16, owned, 16);
  test.heap.point(holder, 24, for_ever, 16);
  for (const std::uint32_t object : {whole, owned, for_ever}) test.global(object, 16);
  EXPECT_EQ(test.borrowed(), std::vector{place_in(whole, 16)});
}

TEST(BorrowedPlaces, AreWhereListsOfTheCollectorBegin) {
  PythonForTest test;
  const std::uint32_t object = test.object(1), other = test.heap.add(64);
  test.global(object, 0);
  test.global(object, 16);
  test.global(other, 0);
  EXPECT_EQ(test.borrowed(), std::vector{place_in(object, 0)});
}

TEST(BorrowedPlaces, StillKeepWhatNothingElseLeadsTo) {
  PythonForTest test;
  const std::uint32_t object = test.object(1), lost = test.object(1);
  test.global(object, 0);
  Roots roots = test.roots();
  const ReferenceGraph graph = test.heap.graph({.cpython = true});
  const HeapView view{test.heap.image(), test.heap.ranks(), graph, roots};
  EXPECT_FALSE(Reachability::of(view).only_from_stacks(object));
  roots.set_borrowed(borrowed_places(view));
  const Reachability reach = Reachability::of(view);
  EXPECT_EQ(reach.class_of(object), LeakClass::Reachable);
  EXPECT_TRUE(reach.only_from_stacks(object));
  EXPECT_EQ(reach.class_of(lost), LeakClass::Definitely);
}

TEST(KnownPlaces, AreWhereTheValuesOfAnObjectsAttributesBegin) {
  for (const std::uint64_t last : {0x0803'0000'0000'0000U, 0x0903'0000'0000'0000U, 0x0804'0000'0000'0000U}) {
    PythonForTest test;
    const std::uint32_t values = test.heap.add(32); // of three attributes
    test.heap.pages.put_word(test.heap.at(values), last);
    test.global(values, 8);
    const Roots roots = test.roots();
    const ReferenceGraph graph = test.heap.graph({.cpython = true});
    const HeapView view{test.heap.image(), test.heap.ranks(), graph, roots};
    EXPECT_EQ(KnownPlaces::of(view, {}).holds(test.heap.ranks(), values, 8), last == 0x0803'0000'0000'0000) << last;
  }
}

TEST(RootRanges, FramesOfAnInterpreterAreWeakAndNoVariablesOfAModule) {
  PythonForTest test;
  const std::uint32_t local = test.heap.add(64);
  test.heap.pages.put_word(kGlobals + 0x1028, test.heap.at(local)); // right behind the module's
  test.facts.frames = {{kGlobals + 0x1000, kGlobals + 0x2000}};
  const Roots roots = test.roots();
  ASSERT_EQ(roots.words().size(), 1u);
  EXPECT_EQ(roots.ranges()[roots.words()[0].range].kind, RootKind::Stack);
  EXPECT_TRUE(roots.is_weak(roots.words()[0]));
}

} // namespace
} // namespace heaptape
