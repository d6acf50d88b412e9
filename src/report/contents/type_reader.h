// What one block is, by the stack that allocated it and by the words that it begins with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/memory/known_places.h"
#include "report/contents/block_type.h"
#include "report/contents/object_types.h"
#include "report/contents/python_types.h"
#include "report/contents/snapshot_memory.h"
#include "report/contents/stack_types.h"

namespace heaptape {

// Remembers what it has found. One thread at a time; the memory and the names must outlive it.
class TypeReader {
public:
  using Head = PythonTypes::Head;

  TypeReader(SnapshotMemory& memory, StackNames& names);

  struct OfStack {
    std::string type{};               // empty: it does not say
    bool is_raw = false;              // memory in which anything may lie
    std::optional<FrameId> charged{}; // the function that made it; nullopt: nobody knows
  };
  const OfStack& of_stack(StackId stack);

  // The live blocks, if they are known; they must outlive it.
  void set_blocks(const BlockRanks& blocks) { python_.set_blocks(blocks); }

  // By the first words of a block of this size; nullopt: they do not say. The name is valid as long as this object.
  struct OfHead {
    const std::string* name = nullptr;
    TypeSource source = TypeSource::None;
    bool is_array = false;       // of such objects
    std::uint32_t object_at = 0; // where in the block the object begins
  };
  std::optional<OfHead> of_head(const Head& head, std::uint64_t bytes);
  static std::string text(const OfHead& type);

  // One block, read from memory; nullopt: only who made it is known.
  std::optional<std::string> type_of(std::uint64_t address, std::uint64_t bytes, StackId stack);

private:
  const std::string* object_type(std::uint64_t word); // null: none

  SnapshotMemory& memory_;
  StackTypes stacks_;
  ObjectTypes objects_;
  PythonTypes python_;
  MayBeVtable may_be_vtable_;
  std::vector<std::optional<OfStack>> by_stack_;
};

} // namespace heaptape
