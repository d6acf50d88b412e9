// The program's threads, numbered in order of appearance. Threads that have ended can be handed to the tape and
// forgotten, so that a program with millions of short threads needs no more memory than its live ones. One thread at a
// time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "tape/contents.h"

namespace heaptape {

class ThreadList {
public:
  ThreadId start(std::uint32_t tid, std::uint64_t ticks, std::uint64_t stack_top = 0) {
    const ThreadId id(++last_);
    live_.emplace(id.value, Known{tid, ticks, {}, stack_top, false});
    return id;
  }

  // The name the program gave it; it stays, whatever the kernel calls the thread.
  void name(ThreadId id, std::string name) {
    Known* known = nullptr;
    if (const auto found = live_.find(id.value); found != live_.end()) known = &found->second;
    for (Ended& ended : ended_) {
      if (ended.id == id) known = &ended.thread;
    }
    if (known == nullptr) return;
    known->name = std::move(name);
    known->named = true;
  }

  void end(ThreadId id, std::uint64_t ticks) {
    const auto found = live_.find(id.value);
    if (found == live_.end()) return;
    ended_.push_back(Ended{id, std::move(found->second), ticks});
    live_.erase(found);
  }

  struct Known {
    std::uint32_t tid = 0;
    std::uint64_t first_ticks = 0;
    std::string name;
    std::uint64_t stack_top = 0; // 0: not known
    bool named = false;          // by the program itself
  };
  struct Ended {
    ThreadId id;
    Known thread;
    std::uint64_t ticks = 0;
  };

  std::map<std::uint32_t, Known>& live() { return live_; }
  std::vector<Ended>& ended() { return ended_; }
  std::uint32_t count() const { return last_; }

private:
  std::map<std::uint32_t, Known> live_;
  std::vector<Ended> ended_;
  std::uint32_t last_ = 0;
};

} // namespace heaptape
