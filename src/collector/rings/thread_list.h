// The program's threads, numbered in order of appearance. Threads that have ended can be handed to the tape and
// forgotten, so that a program with millions of short threads needs no more memory than its live ones. One thread at a
// time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "tape/contents.h"
#include "wire/layout.h"

namespace heaptape {

class ThreadList {
public:
  ThreadId start(std::uint32_t tid, std::uint64_t ticks, std::uint64_t stack_top = 0) {
    const ThreadId id(++last_);
    live_.emplace(id.value, Known{tid, ticks, {}, stack_top, false});
    return id;
  }

  // A thread that has no slot of its own and borrows one for each record, or once did. Known by its id and stack top.
  struct Borrower {
    ThreadId id;
    std::uint32_t slot = 0; // the slot that its items name as theirs; no real slot has this number
    std::uint64_t last_ticks = 0;
    bool was_gone = false; // when we last asked
  };
  // Valid until the next call. Null: there are too many.
  const Borrower* borrow(std::uint32_t tid, std::uint64_t ticks, std::uint64_t stack_top) {
    const std::pair key(tid, stack_top);
    auto found = borrowers_.find(key);
    if (found == borrowers_.end()) {
      if (borrowers_.size() == kMostBorrowers) return nullptr;
      std::uint32_t slot = wire::kMostSlots + static_cast<std::uint32_t>(borrowers_.size());
      if (!free_slots_.empty()) {
        slot = free_slots_.back();
        free_slots_.pop_back();
      }
      found = borrowers_.emplace(key, Borrower{start(tid, ticks, stack_top), slot, ticks}).first;
    }
    found->second.last_ticks = std::max(found->second.last_ticks, ticks);
    found->second.was_gone = false;
    return &found->second;
  }
  // It made a record at this time.
  void saw_borrower(std::uint32_t tid, std::uint64_t stack_top, std::uint64_t ticks) {
    const auto found = borrowers_.find({tid, stack_top});
    if (found != borrowers_.end()) found->second.last_ticks = std::max(found->second.last_ticks, ticks);
  }
  // Ends those for which `is_gone(tid)` is true for the second time, so that there was time to read their last records.
  // Looks at no more than `most`; the next call continues after them.
  template <class IsGone>
  void reap_borrowers(std::size_t most, IsGone&& is_gone) {
    auto at = borrowers_.lower_bound(next_borrower_);
    for (std::size_t i = std::min(most, borrowers_.size()); i > 0; --i) {
      if (at == borrowers_.end()) at = borrowers_.begin();
      if (!is_gone(at->first.first) || !std::exchange(at->second.was_gone, true)) {
        ++at;
        continue;
      }
      end(at->second.id, at->second.last_ticks);
      free_slots_.push_back(at->second.slot);
      at = borrowers_.erase(at);
    }
    next_borrower_ = at == borrowers_.end() ? decltype(next_borrower_){} : at->first;
  }
  // The program is gone, and with it all of them.
  void end_borrowers() {
    for (const auto& [key, borrower] : borrowers_) end(borrower.id, borrower.last_ticks);
    borrowers_.clear();
  }

  // A name that the program gave it stays, whatever the kernel calls the thread.
  enum class NameFrom : std::uint8_t { Program, Kernel };
  void name(ThreadId id, std::string name, NameFrom from = NameFrom::Program) {
    Known* const known = find(id);
    if (known == nullptr || (from == NameFrom::Kernel && known->named)) return;
    known->name = std::move(name);
    known->named = from == NameFrom::Program;
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
  Known* find(ThreadId id) {
    if (const auto found = live_.find(id.value); found != live_.end()) return &found->second;
    // Most likely it ended a moment ago.
    const auto found = std::find_if(ended_.rbegin(), ended_.rend(), [&](const Ended& ended) { return ended.id == id; });
    return found != ended_.rend() ? &found->thread : nullptr;
  }

  static constexpr std::size_t kMostBorrowers = std::size_t{1} << 16;

  std::map<std::pair<std::uint32_t, std::uint64_t>, Borrower> borrowers_;
  std::pair<std::uint32_t, std::uint64_t> next_borrower_{};
  std::vector<std::uint32_t> free_slots_; // of borrowers that are gone
  std::map<std::uint32_t, Known> live_;
  std::vector<Ended> ended_;
  std::uint32_t last_ = 0;
};

} // namespace heaptape
