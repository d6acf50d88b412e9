// Types of C++ objects with virtual functions, by the virtual table that their first word leads to.
//
//   word 0 ──► behind two words of a virtual table:   [how far to the start of the object] [type_info] [functions …]
//                                                                                              │
//                                                                    [its own virtual table] [name] ──► "6Circle"
//
// A type_info is known by the names of the classes that the C++ runtimes make them of, which it leads to in the same way: no symbols are
// needed. Programs without type_info (-fno-rtti) have symbols for their tables, if they were not stripped.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/memory/memory_image.h"
#include "report/contents/snapshot_memory.h"
#include "symbols/symbol_list.h"

namespace heaptape {

// The linkage name of the class whose objects begin with this word, such as "6Circle"; empty: there is no type_info.
std::string class_by_type_info(MemoryCursor& cursor, std::uint64_t vtable);

// Remembers what it has found. One thread at a time; the memory must outlive it.
class ObjectTypes {
public:
  explicit ObjectTypes(SnapshotMemory& memory) : memory_(memory) {}

  // The type of an object that begins with this word, which lies in the mapping of a file; empty: it does not lead to a virtual table.
  const std::string& type_of(std::uint64_t word);

private:
  std::string find(std::uint64_t word);
  const std::vector<ListedSymbol>& vtables_of(const Module& module);

  SnapshotMemory& memory_;
  std::unordered_map<std::uint64_t, std::string> known_;
  std::map<const Module*, std::vector<ListedSymbol>> symbols_;
};

} // namespace heaptape
