// Which code is the recorder's own. It runs inside the program, on the program's CPU time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "tape/contents.h"

namespace heaptape {

// By its file's name.
bool is_recorder(const Module& module);

// The stacks must outlive it.
class RecorderCode {
public:
  RecorderCode(const std::vector<Module>& modules, const std::vector<StackNode>& stacks);

  bool holds(std::uint64_t pc) const;
  // Whether the stack's innermost frame, where the thread was, is the recorder's.
  bool holds_innermost(StackId stack) const;

private:
  const std::vector<StackNode>& stacks_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_; // first and one-past-last address
};

} // namespace heaptape
