// Follows a recording while it happens: the churn log, the limit on live bytes, the regular table. The cli hands a
// factory to the collector in CollectorOptions; without one the collector does nothing for it.
//
// All calls come from one thread, in the order of the tape: stacks before the events that name them, marks between the
// events they were made between. Modules are known at the next on_round(), not earlier. A watcher that is slow makes
// the program wait in the end, so what takes long (names, files) belongs into a thread of its own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tape/contents.h"
#include "tape/event.h"

namespace heaptape {

// What a watcher may ask of the collector.
struct WatcherWish {
  std::vector<Mark> marks{}; // to put on the tape; at events that it has seen since the last round
  bool stop_program = false; // ask the program to end, and make it end if it does not
  std::uint64_t next_us = 0; // the next round is to come by this time, even if nothing happens; 0: whenever it comes
};

class EventWatcher {
public:
  EventWatcher() = default;
  EventWatcher(const EventWatcher&) = delete;
  EventWatcher& operator=(const EventWatcher&) = delete;
  virtual ~EventWatcher() = default;

  virtual void on_modules(std::span<const Module> modules) = 0;
  // Ids are dense from 1, parents come first.
  virtual void on_stacks(StackId first, std::span<const StackNode> nodes) = 0;
  virtual void on_events(std::span<const Event> events) = 0;
  virtual void on_mark(const Mark& mark) = 0;
  // Everything up to this time was handed over. Comes at least every 50 ms while the program does something,
  // and every 200 ms while it rests.
  virtual WatcherWish on_round(std::uint64_t time_us) = 0;
  // The program is gone and everything was handed over: the last call.
  virtual void on_end(const Summary& summary) = 0;
  // Instead of all the others: the program never attached. What was created is to be taken away again.
  virtual void on_nothing() = 0;

  // The file that it writes; empty: none.
  virtual std::string file() const { return {}; }
};

struct WatchedProgram {
  pid_t pid = 0;
  std::string name;                    // as the tape's name has it
  std::string path;                    // of the executable, as far as known
  std::string command;                 // arguments, each terminated by a NUL byte, as far as known
  std::uint64_t start_realtime_ns = 0; // wall clock at time 0
  // Shows the user a text, beginning with "heaptape: ". May be called from any thread, until on_end() returns.
  std::function<void(const std::string& text)> tell{};
};

} // namespace heaptape
