#include "analysis/moment/block_lives.h"

#include <algorithm>

namespace heaptape {
namespace {

constexpr std::size_t kNearThreads = 65536;

} // namespace

struct BlockLives::Listener : HeapListener {
  BlockLives& lives;
  const Event* now = nullptr;

  explicit Listener(BlockLives& owner) : lives(owner) {}
  void made(const Block& block) {
    lives.wanted_live_ += lives.is_wanted(block);
    if (lives.options_.kinds) lives.remember_kind(block, now->kind);
  }
  void ended(const Block& block, const Event& event) { lives.end(block, event, true); }
  void given_up(const Block& block, const Event& event) { lives.end(block, event, false); }
};

BlockLives::BlockLives(const TapeReader& tape, const BlockLivesOptions& options)
    : options_(options), events_(tape.events(std::max<std::uint64_t>(options.first_made, 1))) {}

std::uint64_t& BlockLives::last_event_of(ThreadId thread) {
  if (thread.value >= kNearThreads) return far_last_events_[thread];
  if (thread.value >= last_events_.size()) last_events_.resize(thread.value + std::size_t{1});
  return last_events_[thread.value];
}

void BlockLives::remember_kind(const Block& block, EventKind kind) {
  kinds_.insert(block.address, {.size = static_cast<std::uint64_t>(kind), .allocated_at = block.event});
}

EventKind BlockLives::take_kind(const Block& block) {
  LiveBlock kind;
  if (!kinds_.take(block.address, kind)) return EventKind::None;
  return static_cast<EventKind>(kind.size);
}

void BlockLives::end(const Block& block, const Event& event, bool released) {
  const EventKind kind = options_.kinds ? take_kind(block) : EventKind::None;
  if (!is_wanted(block)) return;
  --wanted_live_;
  const Owner owner = state_.owners()[block.owner];
  ready_.push_back({.block = block,
                    .owner = owner,
                    .kind = kind,
                    .freed = true,
                    .temporary = released && owner.thread == event.thread && last_event_of(event.thread) == block.event,
                    .freed_event = event.number,
                    .freed_us = event.time_us,
                    .freed_thread = event.thread,
                    .freed_stack = event.stack});
}

bool BlockLives::refill() {
  ready_.clear();
  at_ = 0;
  if (done_) return false;
  const bool all_ended = wanted_live_ == 0 && state_.event() >= options_.last_made;
  const auto run = all_ended ? std::span<const Event>() : events_.next_run_until(options_.until);
  if (run.empty()) {
    done_ = true;
    list_live();
    return !ready_.empty();
  }
  Listener listener(*this);
  for (std::size_t i = 0; i < run.size(); ++i) {
    if (i + HeapState::kAhead < run.size()) state_.prefetch(run[i + HeapState::kAhead]);
    listener.now = &run[i];
    state_.apply(run[i], listener);
    if (!is_pool(run[i].kind)) last_event_of(run[i].thread) = run[i].number;
  }
  return true;
}

void BlockLives::list_live() {
  state_.blocks().for_each([&](const Block& block) {
    if (is_wanted(block)) ready_.push_back({.block = block, .owner = state_.owners()[block.owner]});
  });
  std::sort(ready_.begin(), ready_.end(),
            [](const BlockLife& a, const BlockLife& b) { return a.block.event < b.block.event; });
  if (!options_.kinds) return;
  for (BlockLife& life : ready_) life.kind = take_kind(life.block);
}

} // namespace heaptape
