#include "analysis/memory/paths.h"

#include <gtest/gtest.h>

#include "analysis/memory/held_heap_for_test.h"
#include "analysis/memory/references.h"

namespace heaptape {
namespace {

TEST(ShortestPaths, LeadFromARootByTheFewestReferences) {
  HeldHeap test;
  HeapForTest& heap = test.heap;
  const std::uint32_t thread = test.thread();
  const std::uint32_t a = heap.add(64), b = heap.add(64), c = heap.add(64), d = heap.add(64), lost = heap.add(64);
  test.global(a);
  heap.point(a, 0x18, b);
  heap.point(b, 0x10, c);
  heap.point(c, 0, d, 0x20);
  heap.point(a, 0x28, c, 0x30);
  heap.point(a, 0x38, c);
  test.slot(thread, c); // shorter, but only a stack
  heap.point(lost, 0, d);
  const HeapView view = test.view();
  const ShortestPaths paths(view);
  const auto path = paths.to(d);
  ASSERT_TRUE(path);
  EXPECT_EQ(view.roots.ranges()[path->range].kind, RootKind::Globals);
  ASSERT_EQ(path->steps.size(), 3u);
  EXPECT_EQ(path->steps[0].block, a);
  EXPECT_EQ(path->steps[0].word, kGlobals);
  EXPECT_EQ(path->steps[1].block, c);
  EXPECT_EQ(path->steps[1].word, heap.at(a, 0x38)) << "of two references the one to the start";
  EXPECT_EQ(path->steps[2].block, d);
  EXPECT_EQ(path->steps[2].word, heap.at(c));
  EXPECT_EQ(path->steps[2].offset, 0x20u);
  EXPECT_EQ(paths.length(d), 3u);
  EXPECT_FALSE(paths.to(lost));
  EXPECT_EQ(paths.length(lost), 0u);
  EXPECT_EQ(paths.to(d, 2)->steps.size(), 2u);
}

TEST(ShortestPaths, LeadFromAStackOrRegisterIfThereIsNothingElse) {
  HeldHeap test;
  const std::uint32_t thread = test.thread();
  const std::uint32_t a = test.heap.add(64), b = test.heap.add(64);
  test.slot(thread, a);
  test.threads[0].registers[ThreadState::Rbx] = test.heap.at(b, 4);
  const HeapView view = test.view();
  const ShortestPaths paths(view);
  EXPECT_EQ(view.roots.ranges()[paths.to(a)->range].kind, RootKind::Stack);
  const auto path = paths.to(b);
  EXPECT_EQ(view.roots.ranges()[path->range].kind, RootKind::Registers);
  EXPECT_EQ(path->steps[0].word, std::uint64_t{ThreadState::Rbx});
  EXPECT_EQ(path->steps[0].offset, 4u);
}

TEST(References, AreFoundInRootsAndBlocksAndOnRequestInFreedMemory) {
  HeldHeap test;
  HeapForTest& heap = test.heap;
  const std::uint32_t a = heap.add(64), b = heap.add(64), target = heap.add(64), c = heap.add(64);
  test.global(target);
  heap.point(a, 8, target);
  heap.point(a, 16, target, 60);
  heap.point(b, 8, a);
  heap.point(target, 8, target, 8);
  heap.point(c, 0, target, 63);
  heap.pages.put_word(heap.at(c, 80), heap.at(target)); // no block is there
  const HeapView view = test.view();
  const auto found = [&](const ReferenceQuestion& question) {
    std::vector<std::uint64_t> words;
    for (const Reference& reference : references_to(view, question).references) words.push_back(reference.address);
    return words;
  };
  const std::uint64_t begin = heap.at(target), end = begin + 64;
  const std::vector<std::uint64_t> all{kGlobals, heap.at(a, 8), heap.at(a, 16), heap.at(target, 8), heap.at(c)};
  EXPECT_EQ(found({begin, end}), all);
  EXPECT_EQ(found({begin, begin + 1}), (std::vector{kGlobals, heap.at(a, 8)}));
  std::vector<std::uint64_t> more = all;
  more.push_back(heap.at(c, 80));
  EXPECT_EQ(found({begin, end, true}), more);
  EXPECT_EQ(found({begin - 4, end}), all) << "more than the block: all memory is read";
  EXPECT_EQ(found({end, end}), std::vector<std::uint64_t>());
  const ReferenceAnswer answer = references_to(view, {begin, end, false, 2});
  EXPECT_TRUE(answer.cut);
  EXPECT_EQ(answer.references.size(), 2u);
  EXPECT_EQ(answer.references[0].holder, Holder::Root);
  EXPECT_EQ(answer.references[1].holder, Holder::Block);
  EXPECT_EQ(answer.references[1].number, a);
}

TEST(References, ToMemoryOutsideOfBlocksAreFoundToo) {
  HeldHeap test;
  const std::uint32_t a = test.heap.add(64);
  test.heap.pages.put_word(test.heap.at(a, 8), 0x1234'5678);
  test.heap.pages.put_word(kGlobals + 64, 0x1234'5670);
  const ReferenceAnswer answer = references_to(test.view(), {0x1234'5600, 0x1234'5700});
  ASSERT_EQ(answer.references.size(), 2u);
  EXPECT_EQ(answer.references[0].value, 0x1234'5670u);
  EXPECT_EQ(answer.references[1].value, 0x1234'5678u);
}

} // namespace
} // namespace heaptape
