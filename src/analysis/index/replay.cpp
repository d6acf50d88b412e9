#include "analysis/index/replay.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "analysis/heap/allocator_code.h"
#include "base/byte_cursor.h"
#include "base/check.h"

namespace heaptape {

namespace {

constexpr std::size_t kSmallBytes = std::size_t{512} << 10;
constexpr std::uint32_t kNearThreads = std::uint32_t{1} << 20; // ids that are looked up without a hash

std::uint64_t growth_moment(std::uint64_t end_us, std::uint64_t i) {
  return end_us / kGrowthMoments * (i + 1) + end_us % kGrowthMoments * (i + 1) / kGrowthMoments;
}

} // namespace

// With mappings: there is one that counts for the total of heap and mappings.
template <bool WithMappings>
struct Replay::Listener : HeapListener {
  Replay& replay;

  explicit Listener(Replay& of) : replay(of) {}

  [[gnu::always_inline]] void made(const Block& block) {
    Replay& r = replay;
    if (block.owner == r.rows_.size()) [[unlikely]]
      r.add_row();
    OwnerRow& row = r.rows_[block.owner];
    row.before_change(r.epoch_);
    if constexpr (WithMappings) {
      r.total_peak_.before_change(block.owner, row.live());
      r.total_peak_.made(block.address);
    }
    row.allocated += Cost::of(block.size);
    if (block.size > row.largest) row.largest = block.size;
    Tally& sizes = r.sizes_[log_bucket(block.size)];
    sizes.before_change(r.epoch_);
    sizes.allocated += Cost::of(block.size);
    r.thread_->blocks.made(block.owner, block.size);
  }

  // Released or given up.
  [[gnu::always_inline]] OwnerRow& gone(const Block& block, const Event& event) {
    Replay& r = replay;
    const Cost cost = Cost::of(block.size);
    OwnerRow& row = r.rows_[block.owner];
    row.before_change(r.epoch_);
    if constexpr (WithMappings) r.total_peak_.before_change(block.owner, row.live());
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
    if (row.owner.thread != event.thread) return;
    if (block.event >= replay.earliest_recent(thread)) row.temporary += Cost::of(block.size);
    const bool grows = is_release(event.kind)
                           ? thread.blocks.replaces_smaller(block.owner, block.size)
                           : row.owner.stack == event.stack && event.size > block.size && event.address != 0;
    if (grows) row.regrown += Cost::of(block.size);
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
    replay.total_peak_.opened(piece);
  }
  void closed(const MappingPiece& piece) {
    const Cost cost = Cost::of(piece.bytes());
    (piece.anonymous ? replay.mappings_.anonymous : replay.mappings_.file).open -= cost;
    replay.mappings_by_stack_[piece.stack].open -= cost;
    replay.total_peak_.closed(piece);
  }
};

ReplayOptions options_for(const TapeReader& tape) {
  ReplayOptions options;
  options.events = tape.event_count();
  // A program may run on for long after its last event.
  if (!tape.event_chunks().empty()) options.end_us = tape.event_chunks().back().last_us;
  if (tape.summary()) options.end_us = std::max(options.end_us, tape.summary()->duration_us);
  if (!tape.samples().empty()) options.end_us = std::max(options.end_us, tape.samples().back().time_us);
  if (!tape.marks().empty()) options.end_us = std::max(options.end_us, tape.marks().back().time_us);
  options.is_allocators = [stacks = std::make_shared<AllocatorStacks>(tape.modules(), tape.stacks())](StackId stack) {
    return (*stacks)(stack);
  };
  return options;
}

Replay::Replay(const ReplayOptions& options)
    : options_(options), total_peak_(options.is_allocators), timeline_(options.end_us, options.events) {
  for (std::size_t i = 0; i < kGrowthMoments; ++i) moments_us_[i] = growth_moment(options.end_us, i);
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

void Replay::add_row() {
  const Owner owner = state_.owners()[static_cast<std::uint32_t>(rows_.size())];
  rows_.add().owner = owner;
}

void Replay::apply(std::span<const Event> events) {
  // As long as all is in the cache, looking ahead costs more than it saves.
  const bool ahead = state_.blocks().memory_bytes() >= kSmallBytes;
  while (!events.empty()) {
    std::size_t done = 0;
    if (total_peak_.is_active())
      done = ahead ? apply_some<true, true>(events) : apply_some<false, true>(events);
    else
      done = ahead ? apply_some<true, false>(events) : apply_some<false, false>(events);
    events = events.subspan(done);
  }
  leave_thread();
}

template <bool LookAhead, bool WithMappings>
std::size_t Replay::apply_some(std::span<const Event> events) {
  Listener<WithMappings> listener(*this);
  const HeapTotals& totals = state_.totals();
  for (std::size_t i = 0; i < events.size(); ++i) {
    if constexpr (LookAhead) {
      if (i + HeapState::kAhead < events.size()) state_.prefetch(events[i + HeapState::kAhead]);
    }
    const Event& event = events[i];
    if (event.time_us >= next_tick_us_) [[unlikely]]
      tick(event.time_us);
    if (thread_ == nullptr || thread_->figures.thread != event.thread) change_thread(event);
    state_.apply(event, listener);
    if (!is_pool(event.kind)) [[likely]] // a wrapper's pool block comes between malloc and free
      remember(*thread_, event.number);
    // Others may make it less too: a realloc may be a release, and an allocation may give a block up.
    timeline_.add_low(totals.live_bytes, totals.live_blocks);
    if (!is_release(event.kind)) timeline_.add_high(totals.live_bytes, totals.live_blocks);
    if constexpr (WithMappings) {
      total_peak_.after_event(totals.live_bytes, event.number, event.time_us);
    } else if (total_peak_.is_active()) [[unlikely]] {
      start_total_peak();
      total_peak_.after_event(totals.live_bytes, event.number, event.time_us);
      return i + 1;
    }
  }
  return events.size();
}

// The first mapping that counts has come. Up to now the total was the heap alone, and so was its peak.
void Replay::start_total_peak() {
  std::vector<Cost> at_peak;
  at_peak.reserve(rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) at_peak.push_back(rows_[i].at_peak(epoch_));
  const HeapTotals& totals = state_.totals();
  total_peak_.start(std::move(at_peak), totals.peak_bytes, totals.peak_event, totals.peak_us);
}

// Counts the events of a thread when another one comes, not one by one.
void Replay::leave_thread() {
  if (thread_ == nullptr) return;
  thread_->figures.events += state_.totals().events - thread_since_;
  thread_since_ = state_.totals().events;
  thread_->figures.last_us = state_.time_us();
}

void Replay::change_thread(const Event& event) {
  leave_thread();
  thread_ = &row_of(event.thread);
  if (thread_->figures.events == 0) thread_->figures.first_us = event.time_us;
}

void Replay::tick(std::uint64_t time_us) {
  while (next_growth_ < kGrowthMoments && moments_us_[next_growth_] < time_us) take_growth();
  if (time_us >= timeline_.bucket_end_us()) {
    timeline_.set_totals(state_.totals());
    timeline_.advance(time_us);
  }
  next_tick_us_ = timeline_.bucket_end_us();
  if (next_growth_ < kGrowthMoments) next_tick_us_ = std::min(next_tick_us_, moments_us_[next_growth_] + 1);
}

// Kept as few bytes until the end: there may be very many stacks with a little live each.
void Replay::take_growth() {
  ByteWriter bytes(growth_bytes_);
  std::uint64_t last = 0;
  for (std::uint64_t owner = 0; owner < rows_.size(); ++owner) {
    const Cost live = rows_[owner].live();
    if (live == Cost{}) continue;
    bytes.varint(owner + 1 - last);
    bytes.varint(live.bytes);
    bytes.varint(live.blocks);
    last = owner + 1;
  }
  bytes.varint(0);
  ++next_growth_;
}

std::vector<StackGrowth> Replay::finish_growth() {
  const auto for_each = [&](auto visit) {
    ByteReader bytes(growth_bytes_);
    for (std::size_t moment = 0; moment < kGrowthMoments; ++moment) {
      std::uint64_t owner = 0;
      while (const std::uint64_t distance = bytes.varint()) {
        owner += distance;
        const std::uint64_t live_bytes = bytes.varint();
        visit(moment, state_.owners()[static_cast<std::uint32_t>(owner - 1)].stack, Cost{live_bytes, bytes.varint()});
      }
    }
  };
  std::vector<std::uint32_t> places; // 1 + place in `growth`, by stack; 0: it has none
  for_each([&](std::size_t, StackId stack, const Cost&) {
    if (stack.value >= places.size()) places.resize(std::size_t{stack.value} + 1);
    places[stack.value] = 1;
  });
  std::vector<StackGrowth> growth;
  growth.reserve(places.size() - static_cast<std::size_t>(std::count(places.begin(), places.end(), 0u)));
  for (std::uint32_t stack = 0; stack < places.size(); ++stack) {
    if (places[stack] == 0) continue;
    growth.emplace_back().stack = StackId(stack);
    places[stack] = static_cast<std::uint32_t>(growth.size());
  }
  for_each([&](std::size_t moment, StackId stack, const Cost& live) {
    growth[places[stack.value] - 1].live[moment] += live;
  });
  return growth;
}

std::vector<OwnerFigures> Replay::finish_owners() {
  std::vector<OwnerFigures> owners;
  owners.reserve(rows_.size());
  while (rows_.size() != 0) owners.push_back(rows_.take_last().figures(epoch_)); // each makes room for the next
  std::sort(owners.begin(), owners.end(),
            [](const OwnerFigures& a, const OwnerFigures& b) { return a.owner < b.owner; });
  return owners;
}

MappingFindings Replay::finish_mappings() {
  MappingFindings findings = mappings_;
  findings.unknown_unmaps = state_.unknown_unmaps();
  for (const auto& [stack, figures] : mappings_by_stack_) findings.by_stack.push_back({figures, stack});
  std::sort(findings.by_stack.begin(), findings.by_stack.end(),
            [](const StackMappings& a, const StackMappings& b) { return a.stack < b.stack; });
  return findings;
}

Findings Replay::finish() {
  while (next_growth_ < kGrowthMoments) take_growth();
  Findings findings;
  findings.totals = state_.totals();
  findings.end_us = std::max(options_.end_us, state_.time_us());

  if (total_peak_.is_active()) {
    const auto owner_of = [&](std::uint32_t number) { return rows_[number].owner; };
    const auto live_of = [&](std::uint32_t number) { return rows_[number].live(); };
    findings.total_peak = total_peak_.finish(static_cast<std::uint32_t>(rows_.size()), owner_of, live_of);
  }
  findings.by_owner = finish_owners();
  for (const ThreadRow& thread : threads_) findings.by_thread.push_back(thread.figures);
  std::sort(findings.by_thread.begin(), findings.by_thread.end(),
            [](const ThreadFigures& a, const ThreadFigures& b) { return a.thread < b.thread; });
  HT_CHECK(sum_owners(findings));

  for (std::size_t i = 0; i < kLogBuckets; ++i)
    findings.sizes[i] = {sizes_[i].allocated, sizes_[i].live(), sizes_[i].at_peak(epoch_)};
  findings.lifetimes = lifetimes_;
  state_.blocks().for_each([&](const Block& block) {
    findings.lifetimes[log_bucket(findings.end_us - block.time_us)].live += Cost::of(block.size);
  });

  findings.mappings = finish_mappings();
  findings.growth.moments_us = moments_us_;
  findings.growth.stacks = finish_growth();
  timeline_.set_totals(state_.totals());
  findings.timeline = make_timeline(timeline_.finish());
  return findings;
}

} // namespace heaptape
