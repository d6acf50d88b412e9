// Odd calls on their way to the tape. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collector/events/bounded_list.h"
#include "tape/contents.h"

namespace heaptape {

class OddCollector {
public:
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 18;

  void add(const OddCall& call) {
    calls_.add(call);
    if (call.kind != OddKind::Failed) ++faults_;
  }
  // Those that are the program's fault where all of it was recorded: wrong releases, not allocations that failed.
  std::uint64_t faults() const { return faults_; }
  // C++ blocks may have been recorded under the names of either family.
  void mix_operators() { mixed_ = true; }
  bool operators_are_mixed() const { return mixed_; }

  std::size_t waiting() const { return calls_.waiting(); }
  bool anything_new() const { return calls_.anything_new(); }
  OddCalls take() { return {calls_.take(), calls_.left_out()}; }

private:
  BoundedList<OddCall> calls_{kMost};
  std::uint64_t faults_ = 0;
  bool mixed_ = false;
};

} // namespace heaptape
