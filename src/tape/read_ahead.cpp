#include "tape/read_ahead.h"

#include <utility>

namespace heaptape {

ReadAhead::ReadAhead(EventCursor cursor) : cursor_(std::move(cursor)) {
  if (std::thread::hardware_concurrency() < 2) return;
  slots_.resize(kSlots);
  for (Slot& slot : slots_) slot.room.resize(kRun);
  decoder_ = std::thread([this] { decode(); });
}

ReadAhead::~ReadAhead() { stop(); }

void ReadAhead::stop() {
  ended_ = true;
  if (!decoder_.joinable()) return;
  stop_.store(true, std::memory_order_relaxed); // empty_ orders it
  empty_.release();
  decoder_.join();
}

void ReadAhead::decode() {
  for (std::size_t at = 0;; at = (at + 1) % kSlots) {
    empty_.acquire();
    if (stop_.load(std::memory_order_relaxed)) return;
    slots_[at].events = cursor_.next_run(slots_[at].room);
    const bool end = slots_[at].events.empty();
    full_.release();
    if (end) return;
  }
}

std::span<const Event> ReadAhead::next_run() {
  if (ended_) return {};
  if (slots_.empty()) return cursor_.next_run();
  if (holding_) empty_.release();
  full_.acquire();
  const auto events = slots_[next_].events;
  next_ = (next_ + 1) % kSlots;
  holding_ = !events.empty();
  ended_ = events.empty();
  if (ended_) decoder_.join();
  return events;
}

} // namespace heaptape
