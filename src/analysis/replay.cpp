#include "analysis/replay.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace heaptape {

namespace {

// How many events ahead the places of a block are loaded, and then the row of its owner.
constexpr std::size_t kBlockAhead = 24, kRowAhead = 10;
constexpr std::uint32_t kNearThreads = std::uint32_t{1} << 20; // ids that are looked up without a hash

std::uint64_t growth_moment(std::uint64_t end_us, std::uint64_t i) {
  return end_us / kGrowthMoments * (i + 1) + end_us % kGrowthMoments * (i + 1) / kGrowthMoments;
}

} // namespace

struct Replay::Watch {
  Replay& replay;

  [[gnu::always_inline]] void made(const Block& block) {
    Replay& r = replay;
    if (block.owner == r.rows_.size()) [[unlikely]]
      r.rows_.emplace_back().owner = r.state_.owners()[block.owner];
    OwnerRow& row = r.rows_[block.owner];
    row.before_change(r.epoch_);
    row.allocated += Cost::of(block.size);
    if (block.size > row.largest) row.largest = block.size;
    Tally& sizes = r.sizes_[log_bucket(block.size)];
    sizes.before_change(r.epoch_);
    sizes.allocated += Cost::of(block.size);
  }

  // Released or given up.
  [[gnu::always_inline]] OwnerRow& gone(const Block& block, const Event& event) {
    Replay& r = replay;
    const Cost cost = Cost::of(block.size);
    OwnerRow& row = r.rows_[block.owner];
    row.before_change(r.epoch_);
    row.freed += cost;
    Tally& sizes = r.sizes_[log_bucket(block.size)];
    sizes.before_change(r.epoch_);
    sizes.freed += cost;
    const std::uint64_t lifetime_us = event.time_us - block.time_us;
    row.lifetime_us += lifetime_us;
    if (lifetime_us <= r.options_.short_lived_us) row.short_lived += cost;
    r.lifetimes_[log_bucket(lifetime_us)].freed += cost;
    return row;
  }

  [[gnu::always_inline]] void ended(const Block& block, const Event& event) {
    OwnerRow& row = gone(block, event);
    ThreadRow& thread = *replay.thread_;
    thread.figures.freed_here += Cost::of(block.size);
    if (row.owner.thread == event.thread && block.event >= replay.earliest_recent(thread))
      row.temporary += Cost::of(block.size);
  }
  void given_up(const Block& block, const Event& event) { gone(block, event); }

  [[gnu::always_inline]] void peaked(const Event&) {
    ++replay.epoch_;
    replay.mappings_.anonymous_at_peak_bytes = replay.mappings_.anonymous.open.bytes;
  }

  void opened(const MappingPiece& piece, bool is_new) {
    const Cost cost = Cost::of(piece.bytes());
    const auto add = [&](MappingFigures& figures) {
      figures.open += cost;
      if (!is_new) return;
      figures.mapped += cost;
      figures.most_bytes = std::max(figures.most_bytes, figures.open.bytes);
    };
    add(piece.anonymous ? replay.mappings_.anonymous : replay.mappings_.file);
    add(replay.mappings_by_stack_[piece.stack]);
  }
  void closed(const MappingPiece& piece) {
    const Cost cost = Cost::of(piece.bytes());
    (piece.anonymous ? replay.mappings_.anonymous : replay.mappings_.file).open -= cost;
    replay.mappings_by_stack_[piece.stack].open -= cost;
  }
};

ReplayOptions options_for(const TapeReader& tape) {
  ReplayOptions options;
  options.events = tape.event_count();
  if (!tape.event_blocks().empty()) options.end_us = tape.event_blocks().back().last_us;
  return options;
}

Replay::Replay(const ReplayOptions& options) : options_(options), timeline_(options.end_us, options.events) {
  for (std::size_t i = 0; i < kGrowthMoments; ++i) growth_.moments_us[i] = growth_moment(options.end_us, i);
}

Replay::ThreadRow& Replay::row_of(ThreadId thread) {
  std::uint32_t* place = nullptr;
  if (thread.value < kNearThreads) [[likely]] {
    if (thread.value >= thread_places_.size()) thread_places_.resize(std::size_t{thread.value} + 1);
    place = &thread_places_[thread.value];
  } else {
    place = &far_thread_places_[thread];
  }
  if (*place == 0) {
    threads_.emplace_back().figures.thread = thread;
    *place = static_cast<std::uint32_t>(threads_.size());
  }
  return threads_[*place - 1];
}

// The number of the thread's event from which on a block is temporary when it is released now.
inline std::uint64_t Replay::earliest_recent(const ThreadRow& thread) const {
  if (options_.temporary_events == 1) [[likely]]
    return thread.last_event;
  if (options_.temporary_events == 0) return std::numeric_limits<std::uint64_t>::max();
  return thread.recent.size() < options_.temporary_events ? 0 : thread.recent[thread.oldest];
}

inline void Replay::remember(ThreadRow& thread, std::uint64_t event) const {
  thread.last_event = event;
  if (options_.temporary_events <= 1) [[likely]]
    return;
  if (thread.recent.size() < options_.temporary_events) {
    thread.recent.push_back(event);
    return;
  }
  thread.recent[thread.oldest] = event;
  thread.oldest = (thread.oldest + 1) % thread.recent.size();
}

void Replay::apply(std::span<const Event> events) {
  Watch watch{*this};
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (i + kBlockAhead < events.size()) state_.prefetch(events[i + kBlockAhead]);
    if (i + kRowAhead < events.size()) prefetch_row(state_.guess_owner(events[i + kRowAhead]));
    const Event& event = events[i];
    if (event.time_us >= next_tick_us_) [[unlikely]]
      tick(event.time_us);
    if (thread_ == nullptr || thread_->figures.thread != event.thread) thread_ = &row_of(event.thread);
    state_.apply(event, watch);
    ThreadFigures& thread = thread_->figures;
    if (thread.events++ == 0) thread.first_us = event.time_us;
    thread.last_us = event.time_us;
    remember(*thread_, event.number);
    timeline_.add(state_.totals().live_bytes, state_.totals().live_blocks);
  }
}

void Replay::tick(std::uint64_t time_us) {
  while (next_growth_ < kGrowthMoments && growth_.moments_us[next_growth_] < time_us) take_growth();
  if (time_us >= timeline_.bucket_end_us()) {
    timeline_.set_totals(state_.totals().allocated_bytes, state_.totals().events);
    timeline_.advance(time_us);
  }
  next_tick_us_ = timeline_.bucket_end_us();
  if (next_growth_ < kGrowthMoments) next_tick_us_ = std::min(next_tick_us_, growth_.moments_us[next_growth_] + 1);
}

void Replay::take_growth() {
  for (const OwnerRow& row : rows_) {
    if (row.live() == Cost{}) continue;
    const std::uint32_t place = growth_places_.number_of({row.owner.stack, ThreadId()});
    if (place == growth_.stacks.size()) growth_.stacks.emplace_back().stack = row.owner.stack;
    growth_.stacks[place].live[next_growth_] += row.live();
  }
  ++next_growth_;
}

Answers Replay::finish() {
  Answers answers;
  answers.totals = state_.totals();
  answers.end_us = state_.time_us();

  answers.by_owner.reserve(rows_.size());
  for (const OwnerRow& row : rows_) {
    OwnerFigures figures;
    figures.allocated = row.allocated;
    figures.freed = row.freed;
    figures.at_peak = row.at_peak(epoch_);
    figures.temporary = row.temporary;
    figures.short_lived = row.short_lived;
    figures.lifetime_us = row.lifetime_us;
    figures.largest = row.largest;
    figures.owner = row.owner;
    answers.by_owner.push_back(figures);
  }
  std::sort(answers.by_owner.begin(), answers.by_owner.end(),
            [](const OwnerFigures& a, const OwnerFigures& b) { return a.owner < b.owner; });
  for (const ThreadRow& thread : threads_) answers.by_thread.push_back(thread.figures);
  std::sort(answers.by_thread.begin(), answers.by_thread.end(),
            [](const ThreadFigures& a, const ThreadFigures& b) { return a.thread < b.thread; });
  HT_CHECK(sum_owners(answers));

  for (std::size_t i = 0; i < kLogBuckets; ++i)
    answers.sizes[i] = {sizes_[i].allocated, sizes_[i].live(), sizes_[i].at_peak(epoch_)};
  answers.lifetimes = lifetimes_;
  state_.blocks().for_each([&](const Block& block) {
    answers.lifetimes[log_bucket(state_.time_us() - block.time_us)].live += Cost::of(block.size);
  });

  answers.mappings = mappings_;
  answers.mappings.unknown_unmaps = state_.unknown_unmaps();
  for (const auto& [stack, figures] : mappings_by_stack_) {
    StackMappings row;
    static_cast<MappingFigures&>(row) = figures;
    row.stack = stack;
    answers.mappings.by_stack.push_back(row);
  }
  std::sort(answers.mappings.by_stack.begin(), answers.mappings.by_stack.end(),
            [](const StackMappings& a, const StackMappings& b) { return a.stack < b.stack; });

  while (next_growth_ < kGrowthMoments) take_growth();
  answers.growth = growth_;
  std::sort(answers.growth.stacks.begin(), answers.growth.stacks.end(),
            [](const StackGrowth& a, const StackGrowth& b) { return a.stack < b.stack; });
  timeline_.set_totals(state_.totals().allocated_bytes, state_.totals().events);
  answers.timeline = make_timeline(timeline_.finish());
  return answers;
}

} // namespace heaptape
