// Types of CPython's objects, by the type object that each of them leads to.
//
//   block ──► [ dict, values ] [ links of the collector ] [ references ] [ type ] …      what is in brackets first, only some types have
//              16 bytes          16 bytes                                   │
//                                                      [ references ] [ type ] [ … ] [ name ] [ size ]      "dict"
//                                                                        │
//                                                                        └─► a type object, in the end `type`, which leads to itself
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "analysis/memory/block_ranks.h"
#include "analysis/memory/memory_image.h"

namespace heaptape {

// Remembers what it has found. One thread at a time; what it was made with must outlive it.
class PythonTypes {
public:
  static constexpr std::size_t kHeadWords = 6;
  using Head = std::array<std::uint64_t, kHeadWords>; // the first words of a block; zeros where it is smaller

  explicit PythonTypes(MemoryCursor& cursor) : cursor_(cursor) {}
  // With the live blocks fewer words need to be looked at; they must outlive it.
  void set_blocks(const BlockRanks& blocks) { blocks_ = &blocks; }

  struct Object {
    std::uint32_t offset = 0; // in its block
    const std::string* type;  // "dict"
  };
  // What a block of this size is that begins so; nullopt: no object of Python.
  std::optional<Object> object_in(const Head& head, std::uint64_t bytes);

private:
  struct Type {
    std::string name{}; // empty: it is none
    std::uint64_t size = 0;
  };
  const Type& type_at(std::uint64_t address);
  Type find(std::uint64_t address);

  const BlockRanks* blocks_ = nullptr;
  MemoryCursor& cursor_;
  std::unordered_map<std::uint64_t, Type> known_;
};

} // namespace heaptape
