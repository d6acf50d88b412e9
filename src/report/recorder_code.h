// Which code is the recorder's own. It runs inside the program, on the program's CPU time.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "report/stack_names.h"
#include "tape/contents.h"

namespace heaptape {

// By its file's name.
bool is_recorder(const Module& module);

// The names and stacks must outlive it.
class RecorderCode {
public:
  RecorderCode(const std::vector<Module>& modules, const std::vector<StackNode>& stacks, const StackNames& names);

  bool holds(std::uint64_t pc) const;
  // Whether the stack's innermost frame, where the thread was, is the recorder's.
  bool holds_innermost(StackId stack) const;

  // The program's call of an allocation function that a thread was inside of: the stack outside the hook that the program called, which is
  // the stack that the call's heap event has. 0: it was in none. Of several, the innermost.
  StackId allocating_stack(StackId stack) const;

private:
  bool allocates(StackId hook) const;

  const std::vector<StackNode>& stacks_;
  const StackNames& names_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_; // first and one-past-last address
};

} // namespace heaptape
