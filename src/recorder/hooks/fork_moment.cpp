#include "recorder/hooks/fork_moment.h"

#include <time.h>

#include "recorder/core/call_site.h"
#include "recorder/core/events.h"
#include "recorder/core/recorder.h"
#include "wire/layout.h"

namespace heaptape::recorder {

namespace {

// Of the calling thread, which is the child's only one. Two threads may fork at once.
thread_local constinit std::uint64_t t_fork_ns [[gnu::tls_model("initial-exec")]] = 0;

} // namespace

void mark_fork() noexcept {
  timespec now{};
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  t_fork_ns = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
  if (!is_attached()) return;
  (void)record(EventKind::Fork, t_fork_ns & wire::kAddressMask, t_fork_ns >> 48, HT_CALL_SITE(), false);
}

std::uint64_t fork_moment_ns() noexcept { return t_fork_ns; }

} // namespace heaptape::recorder
