// Types of blocks that hang on one field: the items of a list, the table of a dictionary, the text of a message.
//
//   Message  ─ +0x18 ─► block        Messages lead at +0x18 to blocks whose type is not known, and hardly anything else leads there:
//   Message  ─ +0x18 ─► block        these blocks are "field +0x18 of Message"
//   Message  ─ +0x18 ─► block
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/memory/heap_view.h"
#include "analysis/memory/table_vector.h"

namespace heaptape {

struct BlockField {
  // Where an array's items are, and whatever else lies far behind the start of a block: offsets there mean nothing.
  static constexpr std::uint32_t kItems = ~std::uint32_t{};

  std::uint32_t type = 0; // of the blocks that have it
  std::uint32_t offset = 0;
};

struct DerivedTypes {
  std::vector<BlockField> fields{};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> blocks{}; // each with the number of the field that it hangs on
};

struct DeriveFrom {
  static constexpr std::uint32_t kNotKnown = ~std::uint32_t{};

  const TableVector<std::uint32_t>& type_of; // by block; or kNotKnown
  std::uint32_t first_type = 0;              // fields of types before it are not looked at
  struct Type {
    bool is_array = false; // all of its words are one field
    bool mixed = false;    // what hangs on a field of it may be of different kinds
    bool certain = false;  // it says itself what its fields lead to the start of, whatever else leads there
    bool is_end =
        false; // what hangs on it is known otherwise: table of a map, whose words lead into nodes and into the map itself
  };
  const std::vector<Type>& types;
  const TableVector<std::uint32_t>& kind_of; // by block: blocks of one kind were made by one function
};
DerivedTypes derive_types(const HeapView& heap, const DeriveFrom& from);

} // namespace heaptape
