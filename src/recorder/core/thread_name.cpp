#include "recorder/core/thread_name.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstring>

#include "recorder/core/machine.h"
#include "recorder/core/readable.h"
#include "recorder/core/ring.h"

namespace heaptape::recorder {

void put_thread_name(ThreadState& thread) noexcept {
  constexpr std::size_t kHalf = 6; // bytes in each of address and size
  constexpr std::uint64_t kOfKernel = 1;
  char name[kThreadNameBytes] = {};
  if (in_sandbox() || system_call(SYS_prctl, PR_GET_NAME, as_long(name)) != 0) return;
  name[kThreadNameBytes - 1] = '\0';
  if (std::memcmp(name, thread.name, kThreadNameBytes) == 0) return;
  std::memcpy(thread.name, name, kThreadNameBytes);
  char padded[kThreadNameBytes + 2 * kHalf] = {};
  std::memcpy(padded, name, kThreadNameBytes);
  const std::size_t length = std::strlen(name);
  for (std::size_t at = 0; at < length; at += 2 * kHalf) {
    std::uint64_t halves[2] = {};
    std::memcpy(&halves[0], padded + at, kHalf);
    std::memcpy(&halves[1], padded + at + kHalf, kHalf);
    if (!put(thread, EventKind::MarkText, halves[0], halves[1], 0)) return;
  }
  (void)put(thread, EventKind::ThreadName, length, kOfKernel, 0);
}

} // namespace heaptape::recorder
