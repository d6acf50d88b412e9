// Answers what the program's threads ask about their heap. A question comes with a mark (wire/event_kind.h), and is
// answered when the mark's turn has come in the global order, so the answer is what the tape says at that mark, to the
// byte. One thread at a time.
#pragma once

#include <cstdint>

#include "analysis/heap/heap_totals.h"
#include "collector/rings/shared_memory.h"

namespace heaptape {

class AnswerDesk {
public:
  // The memory must outlive the desk. The program may have asked already.
  explicit AnswerDesk(const SharedMemory& memory) : memory_(memory) {}
  // No more questions: there will be no answers.
  void close();

  void answer(std::uint32_t slot, std::uint32_t question, const HeapTotals& totals);

  // A thread is waiting, so there is no time to rest. Not for ever: a question may have been lost with its record.
  bool is_awaited(std::uint64_t now_ns);

private:
  const SharedMemory& memory_;
  std::uint32_t settled_ = 0; // questions answered or given up
  std::uint32_t seen_ = 0;    // questions at the last look
  std::uint64_t seen_since_ns_ = 0;
};

} // namespace heaptape
