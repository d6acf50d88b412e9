#include "recorder/core/cpu_timer.h"

#include <sys/syscall.h>

#include "recorder/core/machine.h"
#include "recorder/core/readable.h"

namespace heaptape::recorder {

void drop_timer(ThreadState& thread) noexcept {
  if (thread.cpu_timer != 0) (void)system_call(SYS_timer_delete, thread.cpu_timer - 1);
  thread.cpu_timer = 0;
}

void disarm_cpu_timer(ThreadState& thread) noexcept {
  if (thread.cpu_timer != 0 && !in_sandbox()) drop_timer(thread);
}

} // namespace heaptape::recorder
