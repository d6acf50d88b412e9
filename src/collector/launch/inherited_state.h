// What heaptape was started with and must change for itself, so that the program can be given exactly what it would
// have had: signal mask and dispositions, soft resource limits, closed standard descriptors.
#pragma once

#include <signal.h>
#include <sys/resource.h>

#include <array>

namespace heaptape {

// One per process, made while it has one thread. Nothing is undone by the destructor.
class InheritedState {
public:
  // Takes note, then: SIGCHLD gets its default (children of a process that ignores it leave no status), soft limits
  // that would hit the collector rise to the hard ones, and closed standard descriptors are opened on /dev/null,
  // close-on-exec, so that no descriptor of ours takes their number.
  InheritedState();

  // From here on every signal waits until someone asks for it.
  void hold_signals();
  // A held signal would have ended us.
  bool asked_to_end() const;
  // Throws away what is held.
  void drop_signals();
  // Signals act as at the start; those that are held, at once.
  void let_signals_act();

  // In a child that is about to become the program. Async-signal-safe.
  void restore_for_program() const;

private:
  struct Limit {
    int resource;
    rlimit value;
  };

  sigset_t mask_{};
  struct sigaction child_action_ {};
  std::array<Limit, 4> limits_;
};

} // namespace heaptape
