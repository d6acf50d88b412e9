#include "report/contents/derived_types.h"

#include <gtest/gtest.h>

#include <map>

#include "analysis/memory/heap_for_test.h"

namespace heaptape {
namespace {

class Fields {
public:
  // Type of each block; DeriveFrom::kNotKnown where it is to be found out.
  std::uint32_t add(std::uint64_t size, std::uint32_t type, std::uint32_t kind = 0) {
    types.push_back(type);
    kinds.push_back(kind);
    return heap.add(size);
  }
  // By block the offset of the field that it hangs on.
  std::map<std::uint32_t, std::uint32_t> derive(const std::vector<DeriveFrom::Type>& facts) {
    const ReferenceGraph graph = heap.graph();
    const Roots roots = Roots::of({}, heap.image(), heap.ranks());
    TableVector<std::uint32_t> type_of(types.begin(), types.end()), kind_of(kinds.begin(), kinds.end());
    const DerivedTypes derived = derive_types({heap.image(), heap.ranks(), graph, roots}, {type_of, 0, facts, kind_of});
    std::map<std::uint32_t, std::uint32_t> offsets;
    for (const auto& [block, field] : derived.blocks) offsets[block] = derived.fields[field].offset;
    return offsets;
  }

  static constexpr std::uint32_t kUnknown = DeriveFrom::kNotKnown;
  HeapForTest heap;
  std::vector<std::uint32_t> types, kinds;
};

TEST(DerivedTypes, AreOfBlocksThatHangOnOneField) {
  Fields fields;
  for (int i = 0; i < 3; ++i) {
    const std::uint32_t holder = fields.add(64, 0), text = fields.add(100, Fields::kUnknown);
    fields.heap.point(holder, 24, text);
  }
  EXPECT_EQ(fields.derive({{}}), (std::map<std::uint32_t, std::uint32_t>{{1, 24}, {3, 24}, {5, 24}}));
}

TEST(DerivedTypes, AreNotOfBlocksThatOthersReferToMore) {
  Fields fields;
  const std::uint32_t shared = fields.add(100, Fields::kUnknown);
  for (int i = 0; i < 2; ++i) fields.heap.point(fields.add(64, 0), 24, shared);
  for (int i = 0; i < 3; ++i) fields.heap.point(fields.add(64, Fields::kUnknown), 0, shared);
  EXPECT_TRUE(fields.derive({{}}).empty());
}

TEST(DerivedTypes, AreNotOfAFieldThatHoldsDifferentKinds) {
  Fields fields;
  for (std::uint32_t kind = 1; kind <= 4; ++kind)
    fields.heap.point(fields.add(64, 0), 24, fields.add(100, Fields::kUnknown, kind));
  EXPECT_TRUE(fields.derive({{}}).empty());
  Fields again;
  for (std::uint32_t kind = 1; kind <= 4; ++kind)
    again.heap.point(again.add(64, 0), 24, again.add(100, Fields::kUnknown, kind));
  EXPECT_EQ(again.derive({{.mixed = true}}).size(), 4U);
}

TEST(DerivedTypes, OfArraysHaveNoOffset) {
  Fields fields;
  const std::uint32_t array = fields.add(64, 0);
  for (std::uint64_t i = 0; i < 4; ++i) fields.heap.point(array, i * 8, fields.add(16, Fields::kUnknown));
  const auto found = fields.derive({{.is_array = true}});
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found.at(1), BlockField::kItems);
}

TEST(DerivedTypes, OfPointersToAKnownTypeAreCertain) {
  Fields fields;
  const std::uint32_t pointers = fields.add(64, 0), pointed = fields.add(16, Fields::kUnknown, 1);
  fields.heap.point(pointers, 8, pointed);
  fields.heap.point(pointers, 16, fields.add(16, Fields::kUnknown, 2), 8); // not its start
  for (int i = 0; i < 5; ++i) fields.heap.point(fields.add(64, Fields::kUnknown), 0, pointed);
  const auto found = fields.derive({{.is_array = true, .certain = true}});
  EXPECT_EQ(found.size(), 1U);
  EXPECT_TRUE(found.contains(pointed));
}

TEST(DerivedTypes, NeedMoreThanOneAccident) {
  Fields fields;
  for (int i = 0; i < 10; ++i) fields.add(64, 0);
  fields.heap.point(0, 24, fields.add(100, Fields::kUnknown));
  EXPECT_TRUE(fields.derive({{}}).empty());
}

} // namespace
} // namespace heaptape
