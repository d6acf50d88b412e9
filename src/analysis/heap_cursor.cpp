#include "analysis/heap_cursor.h"

#include <algorithm>

#include "analysis/keyframe.h"
#include "analysis/moments.h"

namespace heaptape {

namespace {
constexpr std::size_t kAhead = 24; // events whose places in the map are loaded before they are needed
}

HeapCursor::HeapCursor(const TapeReader& tape, const Index& index)
    : tape_(tape), index_(index), events_(tape.events()) {}

void HeapCursor::approach(std::uint64_t number) {
  sorted_ = false;
  const auto after = std::partition_point(index_.keyframes.begin(), index_.keyframes.end(),
                                          [&](const Keyframe& keyframe) { return keyframe.event <= number; });
  // From the last one back: one that turns out damaged only makes the way longer.
  for (auto keyframe = after; keyframe != index_.keyframes.begin();) {
    --keyframe;
    if (event() <= number && event() >= keyframe->event) return;
    if (!load_keyframe(tape_, *keyframe, state_)) continue;
    events_ = tape_.events(event() + 1);
    return;
  }
  if (event() <= number) return;
  state_ = HeapState();
  events_ = tape_.events();
}

void HeapCursor::seek_event(std::uint64_t number) {
  approach(number);
  for (auto run = events_.next_run_until(number); !run.empty(); run = events_.next_run_until(number)) {
    for (std::size_t i = 0; i < run.size(); ++i) {
      if (i + kAhead < run.size()) state_.prefetch(run[i + kAhead]);
      state_.apply(run[i]);
    }
  }
}

void HeapCursor::seek_time(std::uint64_t time_us) { seek_event(last_event_until(tape_, time_us)); }

HeapState HeapCursor::take_state() {
  HeapState taken = std::move(state_);
  state_ = HeapState();
  events_ = tape_.events();
  sorted_ = false;
  return taken;
}

const Event* HeapCursor::step() {
  sorted_ = false;
  const Event* event = events_.next();
  if (event != nullptr) state_.apply(*event);
  return event;
}

const std::vector<Block>& HeapCursor::blocks_by_address() {
  if (sorted_) return by_address_;
  by_address_.clear();
  by_address_.reserve(static_cast<std::size_t>(state_.blocks().size()));
  state_.blocks().for_each([&](const Block& block) { by_address_.push_back(block); });
  std::sort(by_address_.begin(), by_address_.end(),
            [](const Block& a, const Block& b) { return a.address < b.address; });
  sorted_ = true;
  return by_address_;
}

std::optional<Block> HeapCursor::find_around(std::uint64_t address) {
  blocks_by_address();
  const auto after = std::partition_point(by_address_.begin(), by_address_.end(),
                                          [&](const Block& block) { return block.address <= address; });
  if (after == by_address_.begin()) return std::nullopt;
  const Block& block = *std::prev(after);
  const std::uint64_t bytes = std::max<std::uint64_t>(block.size, 1); // an empty block has its address for itself
  if (address - block.address >= bytes) return std::nullopt;
  return block;
}

} // namespace heaptape
