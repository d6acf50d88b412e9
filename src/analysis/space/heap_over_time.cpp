#include "analysis/space/heap_over_time.h"

#include <algorithm>
#include <bit>

#include "analysis/heap/heap_state.h"
#include "analysis/index/keyframe.h"

namespace heaptape {
namespace {

// Tells a builder what the replay does to blocks.
struct Teller : HeapListener {
  explicit Teller(OverTimeBuilder& builder, const AskOverTime& ask) : to(builder), asked(ask) {}
  void made(const Block& block) { to.begins(block); }
  void ended(const Block& block, const Event&) { to.ends(block); }
  void given_up(const Block& block, const Event&) { to.ends(block); }
  void now(const Event& event) {
    to.set_moment(asked.axis == TimeAxis::Time ? event.time_us - std::min(event.time_us, asked.from_us)
                                               : event.number - asked.after - 1);
  }

  OverTimeBuilder& to;
  const AskOverTime& asked;
};

// The state after this event, by way of the last keyframe before it.
EventCursor go_to(const TapeReader& tape, const Index& index, std::uint64_t event, HeapState& state) {
  const auto after = std::partition_point(index.keyframes.begin(), index.keyframes.end(),
                                          [&](const Keyframe& keyframe) { return keyframe.event <= event; });
  bool loaded = false;
  for (auto at = after; at != index.keyframes.begin() && !loaded;) loaded = load_keyframe(tape, *--at, state);
  if (!loaded) state = HeapState();
  EventCursor events = tape.events(state.event() + 1);
  for (auto run = events.next_run_until(event); !run.empty(); run = events.next_run_until(event))
    for (const Event& each : run) state.apply(each);
  return events;
}

} // namespace

OverTimeBuilder::OverTimeBuilder(std::uint64_t span, const Size& size)
    : span_(std::max<std::uint64_t>(span, 1)), size_(size),
      shift_(static_cast<unsigned>(std::countr_zero(size.least_cell_bytes))),
      parts_per_moment_(static_cast<double>(size.columns << kFractionBits) / static_cast<double>(span_)) {
  set_moment(0);
}

void OverTimeBuilder::set_moment(std::uint64_t moment) {
  const auto part = static_cast<std::uint64_t>(static_cast<double>(std::min(moment, span_)) * parts_per_moment_);
  column_ = static_cast<std::size_t>(part >> kFractionBits);
  // A change in the middle of a column counts for the rest of it.
  in_next_ = part & ((std::uint64_t{1} << kFractionBits) - 1);
  in_column_ = (std::uint64_t{1} << kFractionBits) - in_next_;
}

std::uint64_t* OverTimeBuilder::row(std::uint64_t key) {
  Known& known = known_[key % known_.size()];
  if (known.key == key) return known.row;
  Row& found = rows_[key];
  if (!found) found = std::make_unique<std::uint64_t[]>(size_.columns + 1);
  known = {key, found.get()};
  return known.row;
}

void OverTimeBuilder::add(std::uint64_t key, std::uint64_t bytes) {
  std::uint64_t* at = row(key) + column_;
  at[0] += bytes * in_column_;
  at[1] += bytes * in_next_;
}

void OverTimeBuilder::change(const Block& block, std::uint64_t sign) {
  const std::uint64_t end = block.address + block.size;
  if (block.size == 0 || end < block.address) return;
  if (column_ >= size_.columns) return; // the stretch ends with it
  const std::uint64_t first = block.address >> shift_, last = (end - 1) >> shift_;
  const std::uint64_t cell = std::uint64_t{1} << shift_;
  if (first == last) {
    add(first, sign * block.size);
    add(first + 1, sign * (0 - block.size));
  } else {
    const std::uint64_t in_first = ((first + 1) << shift_) - block.address, in_last = end - (last << shift_);
    add(first, sign * in_first);
    add(first + 1, sign * (cell - in_first));
    add(last, sign * (in_last - cell));
    add(last + 1, sign * (0 - in_last));
  }
  while (rows_.size() > size_.most_rows && shift_ < 60) join_rows();
}

// With v the values and f[k] = v[k] - v[k-1]: a joined cell holds v[2k] + v[2k+1], which is f[2k-1] + 2 f[2k] + f[2k+1]
// more than the one before it.
void OverTimeBuilder::join_rows() {
  ++shift_;
  known_.fill({});
  std::unordered_map<std::uint64_t, Row> old;
  old.swap(rows_);
  const auto add_row = [&](std::uint64_t key, const Row& from, std::uint64_t times) {
    std::uint64_t* to = row(key);
    for (std::size_t i = 0; i <= size_.columns; ++i) to[i] += times * from[i];
  };
  while (!old.empty()) { // the old rows go as the new ones come
    const auto node = old.extract(old.begin());
    const std::uint64_t key = node.key();
    if (key % 2 == 0) {
      add_row(key / 2, node.mapped(), 2);
    } else {
      add_row(key / 2, node.mapped(), 1);
      add_row(key / 2 + 1, node.mapped(), 1);
    }
  }
}

HeapOverTime OverTimeBuilder::finish() {
  HeapOverTime result;
  result.columns = size_.columns;
  result.cell_bytes = std::uint64_t{1} << shift_;
  std::vector<std::uint64_t> keys;
  keys.reserve(rows_.size());
  for (const auto& [key, row] : rows_) keys.push_back(key);
  std::sort(keys.begin(), keys.end());

  std::vector<std::uint64_t> sum(size_.columns); // of the rows up to here
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Row row = std::move(rows_[keys[i]]);
    std::vector<std::uint64_t> means(size_.columns);
    bool used = false;
    std::uint64_t value = 0;
    for (std::size_t c = 0; c < size_.columns; ++c) {
      sum[c] += row[c];
      value += sum[c];
      if (static_cast<std::int64_t>(value) <= 0) continue;
      means[c] = (value + (std::uint64_t{1} << kFractionBits) - 1) >> kFractionBits;
      used = true;
    }
    // The last row only subtracts what was added before it.
    if (!used || i + 1 == keys.size()) continue;
    const std::uint64_t begin = keys[i] << shift_, end = keys[i + 1] << shift_;
    TimedStrip* before = result.strips.empty() ? nullptr : &result.strips.back();
    if (before != nullptr && before->end == begin && before->mean_bytes == means)
      before->end = end;
    else
      result.strips.push_back({begin, end, std::move(means)});
  }
  return result;
}

HeapOverTime heap_over_time(const TapeReader& tape, const Index& index, const AskOverTime& ask) {
  HeapState state;
  EventCursor events = go_to(tape, index, ask.after, state);
  const std::uint64_t count = ask.until > ask.after ? ask.until - ask.after : 0;
  OverTimeBuilder builder(ask.axis == TimeAxis::Time ? ask.to_us - ask.from_us : count, ask.size);
  state.blocks().for_each([&](const Block& block) { builder.begins(block); });
  Teller teller(builder, ask);
  bool stopped = false;
  for (auto run = events.next_run_until(ask.until); !run.empty() && !stopped; run = events.next_run_until(ask.until)) {
    for (std::size_t i = 0; i < run.size(); ++i) {
      if (i + HeapState::kAhead < run.size()) state.prefetch(run[i + HeapState::kAhead]);
      teller.now(run[i]);
      state.apply(run[i], teller);
    }
    stopped = ask.should_stop && ask.should_stop();
    if (ask.progress) ask.progress(state.event() - ask.after, count);
  }
  HeapOverTime result = builder.finish();
  result.whole = !stopped;
  return result;
}

} // namespace heaptape
