// What functions that allocate make, by their names. The standard libraries' allocators are templates: their first argument is what they
// make room for.
#pragma once

#include <string>
#include <string_view>

namespace heaptape {

struct AllocatedType {
  std::string name; // empty: the function does not say
  // The function runs code of the program, too: it says so only of what it allocates itself, and not of what was inlined into it.
  bool only_itself = false;
};

// By a demangled name.
//
//   std::__new_allocator<Circle>::allocate(unsigned long, void const*)                            Circle[]
//   std::__new_allocator<std::_Rb_tree_node<std::pair<int const, Circle> > >::allocate(…)         node of map<int, Circle>
//   std::make_unique<Circle, int>(int&&)                                                          Circle
//   <alloc::raw_vec::RawVec<app::Item>>::grow_one                                                 app::Item[]
AllocatedType allocated_type(std::string_view function);

// The container that the function belongs to, for one that allocates more than one kind of block: "unordered_map<int, Circle>".
std::string container_of(std::string_view function);

// The type of an object, by the type that its virtual table names: of "std::_Sp_counted_ptr_inplace<Circle, …>", which is a Circle and
// the counters of the pointers to it, "Circle (shared)". Others are made shorter.
std::string object_type(std::string_view demangled);

// What the blocks are that such a block leads to, by its type as the functions above write it; empty: it does not say.
//
//   Circle*[]                                Circle
//   node of map<int, std::unique_ptr<Shape>>  Shape
std::string pointed_type(std::string_view type);

// What allocated_type() gives for a table whose container it does not know.
inline constexpr std::string_view kBuckets = "buckets";
// Whether a type says nothing about what may lie in the memory: "char[]".
bool is_raw_bytes(std::string_view type);

} // namespace heaptape
