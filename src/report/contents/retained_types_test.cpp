#include "report/contents/retained_types.h"

#include <gtest/gtest.h>

#include "analysis/memory/held_heap_for_test.h"

namespace heaptape {
namespace {

TEST(RetainedByType, CountsWhatOneOfItsBlocksHoldsOnce) {
  HeldHeap test;
  const std::uint32_t list = test.heap.add(10), node = test.heap.add(20), next = test.heap.add(30),
                      text = test.heap.add(40), lost = test.heap.add(50);
  test.global(list);
  test.heap.point(list, 0, node);
  test.heap.point(node, 0, next);
  test.heap.point(next, 8, text);
  const Dominators dominators = Dominators::of(test.view());
  std::vector<std::uint32_t> type_of(5);
  type_of[list] = 0;
  type_of[node] = type_of[next] = 1;
  type_of[text] = type_of[lost] = 2;
  EXPECT_EQ(retained_by_type(dominators, type_of, 4), (std::vector<std::uint64_t>{100, 90, 40, 0}));
}

} // namespace
} // namespace heaptape
