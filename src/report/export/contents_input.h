// What exports of a heap and its references are made from.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/memory/dominators.h"
#include "analysis/memory/heap_view.h"
#include "analysis/memory/reachability.h"
#include "report/names/stack_names.h"

namespace heaptape {

struct ExportedType {
  std::string name{};
  bool is_known = true; // else the name is that of the function that made it, and the contents may be text
};

// All of it must outlive the export.
struct ContentsInput {
  HeapView heap;
  const Reachability& reachability;
  std::function<const Dominators&()> dominators; // asked for by large heaps only
  const std::vector<ExportedType>& types;
  std::function<std::uint32_t(std::uint32_t block)> type_of;                       // number in `types`
  std::function<std::uint64_t(std::uint32_t block)> event_of;                      // that made it; 0: not known
  std::function<std::string(const RootRange&)> group_name;                         // "variables of libc.so.6"
  std::function<std::string(const RootRange&, std::uint64_t address)> word_name{}; // what lies there: "g_world"
  StackNames* stacks = nullptr; // where blocks were made: their groups are StackIds. Null: not known
};

} // namespace heaptape
