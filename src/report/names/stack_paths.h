// Tells which stacks of several tapes are the same, by the names of their functions: addresses, lines and the
// compiler's choice of what to inline may differ, as after a rebuild. A function without a name counts as its module's
// name and the offset in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "report/names/stack_names.h"

namespace heaptape {

// A sequence of function names, the same for all tapes that one StackPaths was asked about. 0: no frames at all.
using PathId = Id<struct PathTag>;

// One thread at a time.
class StackPaths {
public:
  PathId path_of(StackNames& names, StackId stack);

private:
  std::uint32_t number_of(const StackNames& names, const NamedFrame& frame);

  std::unordered_map<std::string, std::uint32_t> names_;
  std::unordered_map<std::uint64_t, PathId> paths_; // by path of the frames outside << 32 | name
};

// A linkage name without what the compiler puts behind it when it copies a function: "f.constprop.0", "f.part.3",
// "f.llvm.123".
std::string_view without_clone_suffix(std::string_view linkage_name);

} // namespace heaptape
