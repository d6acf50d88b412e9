// The function that a stack is charged to (report/names/charged_function.h), remembered by stack. One thread at a time.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "report/figures/worst.h"
#include "report/names/stack_names.h"

namespace heaptape {

class StackFunction {
public:
  explicit StackFunction(StackNames& names) : names_(names), plumbing_(names) {}

  // Empty: the stack has no frames. Valid as long as the names.
  std::string_view operator()(StackId stack) {
    if (stack.value >= known_.size()) known_.resize(stack.value + std::size_t{1} + known_.size() / 2, kNotAsked);
    std::uint32_t& known = known_[stack.value];
    if (known == kNotAsked) {
      const std::vector<FrameId> frames = names_.frames_of(stack);
      known = frames.empty() ? 0 : names_[frames[charged_frame(plumbing_, frames)]].function.value;
    }
    return names_.text(NameId(known));
  }

private:
  static constexpr std::uint32_t kNotAsked = ~std::uint32_t{0};
  StackNames& names_;
  Plumbing plumbing_;
  std::vector<std::uint32_t> known_; // name, by stack; 0 is the empty name
};

} // namespace heaptape
