#include "recorder/hooks/sampled_fault.h"

#include <cstring>

#include "recorder/check/options.h"
#include "recorder/check/report.h"
#include "recorder/check/sampling.h"
#include "recorder/core/busy.h"
#include "recorder/core/capture_interrupted.h"
#include "recorder/core/events.h"
#include "recorder/core/recorder.h"
#include "recorder/core/ring.h"
#include "recorder/core/text_records.h"

namespace heaptape::recorder {

namespace {

void put_error(ThreadState& thread, const wire::MemoryError& error, std::uint32_t stack) noexcept {
  constexpr std::uint64_t kSpare = 2; // for a hook that was interrupted between its look at the ring and its record
  if (!await_room(thread, text_records(sizeof error) + 1 + kSpare)) {
    if (is_attached()) count_loss(wire::Loss::RingFull);
    return;
  }
  put_text_in_room(thread, &error, sizeof error);
  put_in_room(thread, EventKind::MemoryError, sizeof error, 0, stack);
}

} // namespace

bool pass_sampled_fault(const siginfo_t& info, const ucontext_t& context) noexcept {
  constexpr std::uint64_t kWrite = 2; // in the error code of a page fault
  if (g_check.sample_every == 0 || info.si_signo != SIGSEGV || info.si_code <= 0) return false;
  const bool writes = (static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_ERR]) & kWrite) != 0;
  wire::MemoryError error;
  if (!explain_fault(reinterpret_cast<std::uint64_t>(info.si_addr), writes, error)) return false;
  const auto at = static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RSP]);
  ThreadState* const thread = is_attached() ? join_thread({0, at, 0}, Caller::Handler) : nullptr;
  if (thread == nullptr) return true;
  const std::uint32_t stack = capture_crashed(*thread, context).stack;
  if (is_busy(*thread)) { // a hook was interrupted
    put_error(*thread, error, stack);
  } else {
    const Busy busy(*thread, thread->entry_slot);
    put_error(*thread, error, stack);
  }
  heed_error();
  return true;
}

} // namespace heaptape::recorder
