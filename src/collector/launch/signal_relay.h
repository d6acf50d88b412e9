// Stands between whoever started heaptape and the program: passes signals on, and makes job control see one process.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>

namespace heaptape {

// True for a signal that somebody sent to us and meant for the program. What the terminal sends reaches the program by
// itself, for it is in our process group; what the program sends to its group is its own affair.
bool is_for_program(const siginfo_t& signal, pid_t program, bool session_leader);

// Waits until the program, our child, ends and returns its wait status. All signals must be held (InheritedState). When
// the program stops, we stop in the same way, so that a shell takes its terminal back; when we are continued, so is the
// program. `child_changed` is called whenever a child of ours may have ended, before that; it may be empty.
int wait_and_relay(pid_t program, const std::function<void()>& child_changed = {});

} // namespace heaptape
