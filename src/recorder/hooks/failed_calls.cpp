#include "recorder/hooks/failed_calls.h"

#include <cerrno>

#include "recorder/core/events.h"
#include "wire/failed_call.h"

namespace heaptape::recorder {

namespace {

// Where the operator new was called whose failure is recorded. It may end by an exception, which does not tell us; then another call has
// written over its return address, or the thread stands further up.
thread_local constinit Frame t_failing [[gnu::tls_model("initial-exec")]] = {};

bool is_inside_failing(std::uint64_t slot) noexcept {
  constexpr std::uint64_t kNear = 8192; // the page below may not have been seen yet
  if (t_failing.slot == 0) return false;
  const ThreadState* thread = known_thread();
  const bool inside = thread != nullptr && slot < t_failing.slot &&
                      (t_failing.slot - slot < kNear || thread->stack.on_own_stack(slot)) &&
                      thread->stack.on_own_stack(t_failing.slot) &&
                      *reinterpret_cast<const std::uint64_t*>(t_failing.slot) == t_failing.pc;
  if (!inside) t_failing.slot = 0;
  return inside;
}

} // namespace

void record_failed(EventKind call, std::uint64_t size, int error, std::uint64_t pc, std::uint64_t slot,
                   std::uint64_t rbp) noexcept {
  if (!takes_blocks() || size == 0 || is_inside_failing(slot)) return;
  const std::uint64_t field = wire::failed_call_field(call, size, error != 0 ? error : errno);
  (void)record(EventKind::FailedCall, field, wire::failed_size_field(size), Frame{pc, slot, rbp}, true);
}

void record_failed_new(EventKind call, std::uint64_t size, const Frame& site) noexcept {
  record_failed(call, size != 0 ? size : 1, 0, site.pc, site.slot, site.rbp);
  if (t_failing.slot == 0) t_failing = site;
}

} // namespace heaptape::recorder
