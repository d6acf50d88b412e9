#include "analysis/moment/heap_cursor.h"

#include <algorithm>

#include "analysis/index/keyframe.h"
#include "tape/read_ahead.h"

namespace heaptape {

namespace {
constexpr std::uint64_t kFar = std::uint64_t{1} << 17; // events from which on a thread to decode them is worth it
} // namespace

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
    far_damage_.clear();
    return;
  }
  if (event() <= number) return;
  state_ = HeapState();
  events_ = tape_.events();
  far_damage_.clear();
}

void HeapCursor::apply(std::span<const Event> events) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (i + HeapState::kAhead < events.size()) state_.prefetch(events[i + HeapState::kAhead]);
    state_.apply(events[i]);
  }
}

void HeapCursor::replay_far(std::uint64_t number) {
  far_damage_ = damage();
  ReadAhead events(tape_.events(event() + 1));
  for (auto run = events.next_run(); !run.empty() && run.front().number <= number; run = events.next_run())
    apply(run.first(static_cast<std::size_t>(std::min<std::uint64_t>(run.size(), number - run.front().number + 1))));
  events.stop();
  // What was decoded beyond the moment does not matter to it.
  const auto& blocks = tape_.event_chunks();
  for (const Damage& damage : events.cursor().damage()) {
    const auto block = std::partition_point(blocks.begin(), blocks.end(),
                                            [&](const EventChunkInfo& info) { return info.offset < damage.offset; });
    if (block != blocks.end() && block->first_number <= number) far_damage_.push_back(damage);
  }
  events_ = tape_.events(number + 1);
}

void HeapCursor::seek_event(std::uint64_t number) {
  const auto& blocks = tape_.event_chunks();
  if (blocks.empty()) return;
  number = std::min(number, blocks.back().last_number());
  approach(number);
  if (number - event() >= kFar) return replay_far(number);
  for (auto run = events_.next_run_until(number); !run.empty(); run = events_.next_run_until(number)) apply(run);
}

std::vector<Damage> HeapCursor::damage() const {
  std::vector<Damage> all = far_damage_;
  for (const Damage& damage : events_.damage()) {
    const bool known = std::any_of(far_damage_.begin(), far_damage_.end(),
                                   [&](const Damage& other) { return other.offset == damage.offset; });
    if (!known) all.push_back(damage);
  }
  return all;
}

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

std::vector<Block>::const_iterator HeapCursor::first_behind(std::uint64_t address) {
  const std::vector<Block>& blocks = blocks_by_address();
  return std::partition_point(blocks.begin(), blocks.end(),
                              [&](const Block& block) { return block.address <= address; });
}

std::optional<Block> HeapCursor::find_around(std::uint64_t address) {
  const auto after = first_behind(address);
  if (after == by_address_.begin()) return std::nullopt;
  const Block& block = *std::prev(after);
  const std::uint64_t bytes = std::max<std::uint64_t>(block.size, 1); // a zero-byte block still owns its address
  if (address - block.address >= bytes) return std::nullopt;
  return block;
}

std::optional<Block> HeapCursor::block_before(std::uint64_t address) {
  if (address == 0) return std::nullopt;
  const auto after = first_behind(address - 1);
  return after != by_address_.begin() ? std::optional(*std::prev(after)) : std::nullopt;
}

std::optional<Block> HeapCursor::block_after(std::uint64_t address) {
  const auto after = first_behind(address);
  return after != by_address_.end() ? std::optional(*after) : std::nullopt;
}

} // namespace heaptape
