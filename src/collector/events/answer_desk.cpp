#include "collector/events/answer_desk.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace heaptape {

void AnswerDesk::close() { memory_.header().answers_ended.store(1, std::memory_order_relaxed); }

void AnswerDesk::answer(std::uint32_t slot_index, std::uint32_t question, const HeapTotals& totals) {
  if (slot_index >= memory_.config().slot_count) return; // the thread has no slot of its own, and does not wait
  wire::ThreadSlot& slot = memory_.slot(slot_index);
  const auto set = [&](wire::Answer which, std::uint64_t value) {
    slot.answer[static_cast<std::size_t>(which)].store(value, std::memory_order_relaxed);
  };
  set(wire::Answer::LiveBytes, totals.live_bytes);
  set(wire::Answer::LiveBlocks, totals.live_blocks);
  set(wire::Answer::AllocatedBytes, totals.allocated_bytes);
  set(wire::Answer::AllocatedBlocks, totals.allocated_blocks);
  set(wire::Answer::PeakBytes, totals.peak_bytes);
  slot.answered.store(question, std::memory_order_release);
  ::syscall(SYS_futex, &slot.answered, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  ++settled_;
}

bool AnswerDesk::is_awaited(std::uint64_t now_ns) {
  constexpr std::uint64_t kPatienceNs = 3'000'000'000; // the program's is shorter
  const std::uint32_t asked = memory_.header().questions.load(std::memory_order_relaxed);
  if (asked == settled_) return false;
  if (asked != seen_) {
    seen_ = asked;
    seen_since_ns_ = now_ns;
  }
  if (now_ns - seen_since_ns_ < kPatienceNs) return true;
  settled_ = asked;
  return false;
}

} // namespace heaptape
