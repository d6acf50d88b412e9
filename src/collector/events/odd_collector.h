// Odd calls on their way to the tape. A program may make millions of them, so from kMost on they are only counted. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tape/contents.h"

namespace heaptape {

class OddCollector {
public:
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 18;

  void add(const OddCall& call) {
    if (made_ == kMost) {
      ++left_out_;
      return;
    }
    ++made_;
    waiting_.calls.push_back(call);
  }
  // C++ blocks may have been recorded under the names of either family.
  void mix_operators() { mixed_ = true; }
  bool operators_are_mixed() const { return mixed_; }

  std::size_t waiting() const { return waiting_.calls.size(); }
  bool anything_new() const { return !waiting_.calls.empty() || left_out_ != waiting_.left_out; }
  OddCalls take() {
    waiting_.left_out = left_out_;
    OddCalls taken = std::exchange(waiting_, {});
    waiting_.left_out = left_out_;
    return taken;
  }

private:
  OddCalls waiting_; // its left_out is what was last taken
  std::uint64_t made_ = 0;
  std::uint64_t left_out_ = 0;
  bool mixed_ = false;
};

} // namespace heaptape
