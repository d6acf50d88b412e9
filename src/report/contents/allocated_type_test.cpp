#include "report/contents/allocated_type.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

TEST(AllocatedType, IsWhatAnAllocatorMakesRoomFor) {
  EXPECT_EQ(allocated_type("std::__new_allocator<Circle>::allocate(unsigned long, void const*)").name, "Circle[]");
  EXPECT_EQ(allocated_type("__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)").name, "int[]");
  EXPECT_EQ(allocated_type("std::__1::allocator<Circle>::allocate[abi:v15007](unsigned long)").name, "Circle[]");
  EXPECT_EQ(allocated_type("std::allocator_traits<std::allocator<std::unique_ptr<A, std::default_delete<A> > > >::"
                           "allocate(std::allocator<std::unique_ptr<A, std::default_delete<A> > >&, unsigned long)")
                .name,
            "std::unique_ptr<A>[]");
}

TEST(AllocatedType, NamesTheNodesOfContainers) {
  EXPECT_EQ(allocated_type("std::__new_allocator<std::_Rb_tree_node<std::pair<unsigned long const, "
                           "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > > > >"
                           "::allocate(unsigned long, void const*)")
                .name,
            "node of map<unsigned long, std::string>");
  EXPECT_EQ(allocated_type("std::__new_allocator<std::_Rb_tree_node<int> >::allocate(unsigned long)").name,
            "node of set<int>");
  EXPECT_EQ(allocated_type("std::__new_allocator<std::__detail::_Hash_node<std::pair<int const, A>, false> >::"
                           "allocate(unsigned long)")
                .name,
            "node of unordered_map<int, A>");
  EXPECT_EQ(allocated_type("std::__new_allocator<std::_List_node<A*> >::allocate(unsigned long)").name,
            "node of list<A*>");
  EXPECT_EQ(allocated_type("std::__1::allocator<std::__1::__tree_node<std::__1::__value_type<int, A>, void*> >::"
                           "allocate(unsigned long)")
                .name,
            "node of map<int, A>");
  EXPECT_EQ(allocated_type("std::__1::allocator<std::__1::__hash_node<int, void*> >::allocate(unsigned long)").name,
            "node of unordered_set<int>");
}

TEST(AllocatedType, NamesBlocksOfSharedPointers) {
  EXPECT_EQ(allocated_type("std::__new_allocator<std::_Sp_counted_ptr_inplace<Circle, std::allocator<void>, "
                           "(__gnu_cxx::_Lock_policy)2> >::allocate(unsigned long)")
                .name,
            "Circle (shared)");
  EXPECT_EQ(object_type("std::_Sp_counted_ptr<Circle*, (__gnu_cxx::_Lock_policy)2>"), "control block of Circle");
  EXPECT_EQ(object_type("std::__1::__shared_ptr_emplace<Circle, std::__1::allocator<Circle> >"), "Circle (shared)");
  EXPECT_EQ(object_type("Circle"), "Circle");
}

TEST(AllocatedType, OfATableIsItsContainers) {
  EXPECT_EQ(allocated_type("std::__new_allocator<std::__detail::_Hash_node_base*>::allocate(unsigned long)").name,
            kBuckets);
  EXPECT_EQ(container_of("std::_Hashtable<int, std::pair<int const, A>, std::allocator<std::pair<int const, A> >, "
                         "std::__detail::_Select1st>::_M_rehash(unsigned long)"),
            "unordered_map<int, A>");
}

TEST(AllocatedType, IsUnknownWhereAFunctionRunsOtherCode) {
  EXPECT_FALSE(allocated_type("std::__new_allocator<A>::allocate(unsigned long)").only_itself);
  const AllocatedType made = allocated_type("std::unique_ptr<A> std::make_unique<A, int>(int&&)");
  EXPECT_EQ(made.name, "A");
  EXPECT_TRUE(made.only_itself);
  EXPECT_TRUE(allocated_type("ArenaAllocator<A>::allocate(unsigned long)").only_itself);
  EXPECT_EQ(allocated_type("std::vector<A>::push_back(A const&)").name, "");
  EXPECT_EQ(allocated_type("Texture<A>::allocate(unsigned long)").name, "");
  EXPECT_EQ(allocated_type("main").name, "");
}

TEST(AllocatedType, OfRustIsInTheTypeOfTheFunction) {
  EXPECT_EQ(allocated_type("<alloc::raw_vec::RawVec<app::Item>>::grow_one").name, "app::Item[]");
  EXPECT_EQ(allocated_type("<alloc::boxed::Box<app::Item>>::new").name, "app::Item");
  EXPECT_EQ(allocated_type("<alloc::rc::Rc<app::Item>>::new").name, "app::Item (shared)");
  EXPECT_EQ(allocated_type("<alloc::boxed::Box<alloc::rc::RcInner<alloc::string::String>>>::new_uninit").name,
            "String (shared)");
  EXPECT_EQ(allocated_type("<alloc::vec::Vec<T> as core::clone::Clone>::clone").name, "");
}

TEST(PointedType, IsWhatTheItemsOfAContainerLeadTo) {
  EXPECT_EQ(pointed_type("Circle*[]"), "Circle");
  EXPECT_EQ(pointed_type("std::unique_ptr<Circle>[]"), "Circle");
  EXPECT_EQ(pointed_type("node of map<int, Circle*>"), "Circle");
  EXPECT_EQ(pointed_type("node of list<Circle*>"), "Circle");
  EXPECT_EQ(pointed_type("node of map<std::string, Circle*>"), ""); // the key, or the value?
  EXPECT_EQ(pointed_type("void*[]"), "");
  EXPECT_EQ(pointed_type("Circle[]"), "");
  EXPECT_EQ(pointed_type("Circle"), "");
}

} // namespace
} // namespace heaptape
