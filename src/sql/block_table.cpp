// The table "blocks": every block that ever lived. First those that ended, in the order of their ends, then those still
// live, in the order in which they were made.
#include <algorithm>
#include <array>
#include <optional>

#include "analysis/moment/block_lives.h"
#include "analysis/moment/event_search.h"
#include "analysis/moment/heap_cursor.h"
#include "sql/asked_snapshot.h"
#include "sql/stack_function.h"
#include "sql/tables.h"

namespace heaptape {
namespace {

enum Field : std::size_t {
  kAddress,
  kSize,
  kKind,
  kAllocEvent,
  kAllocTime,
  kAllocThread,
  kAllocStack,
  kAllocFunction,
  kFreeEvent,
  kFreeTime,
  kFreeThread,
  kFreeStack,
  kFreeFunction,
  kLifetime,
  kType,
  kClass,
  kRetained,
};

using enum ColumnType;
constexpr std::array kColumns{
    Column{"address", Integer, Narrow::Rows, "where it starts"},
    Column{"size", Integer, Narrow::Rows, "bytes as asked for"},
    Column{"kind", Text, Narrow::Rows, "function that made it: 'malloc', 'operator new', 'realloc', ..."},
    Column{"alloc_event", Integer, Narrow::Reading, "events.number of the event that made it"},
    Column{"alloc_time", Real, Narrow::Reading, "when that was, in seconds since the start"},
    Column{"alloc_thread", Integer, Narrow::Rows, "threads.id"},
    Column{"alloc_stack", Integer, Narrow::Rows, "stacks.id; 0: none"},
    Column{"alloc_fn", Text, Narrow::Nothing, "the function charged: the innermost that is not plumbing", true},
    Column{"free_event", Integer, Narrow::Reading,
           "the event that ended it; this and the columns below are NULL if it lived to the end", true},
    Column{"free_time", Real, Narrow::Rows, "when that was", true},
    Column{"free_thread", Integer, Narrow::Rows, "threads.id", true},
    Column{"free_stack", Integer, Narrow::Rows, "stacks.id", true},
    Column{"free_fn", Text, Narrow::Nothing, "the function charged with it", true},
    Column{"lifetime", Real, Narrow::Rows, "seconds from one to the other", true},
    Column{"type", Text, Narrow::Nothing,
           "what it was at the last snapshot of memory; this and the columns below are NULL if it was not live then, "
           "or there is none",
           true},
    Column{"class", Text, Narrow::Nothing,
           "'reachable', 'possibly lost', 'indirectly lost' or 'definitely lost' at that snapshot", true},
    Column{"retained", Integer, Narrow::Nothing,
           "bytes of it and of all blocks that could be got at only through it; 0: it was lost", true},
};

constexpr std::string_view class_word(LeakClass leak_class) {
  switch (leak_class) {
  case LeakClass::Reachable: return "reachable";
  case LeakClass::Possibly: return "possibly lost";
  case LeakClass::Definitely: return "definitely lost";
  case LeakClass::Indirectly: return "indirectly lost";
  }
  return "";
}

// What the blocks of a snapshot were, as far as a statement asks.
class BlocksAtSnapshot {
public:
  explicit BlocksAtSnapshot(AskedSnapshots& snapshots) : snapshots_(snapshots) {}

  Result<> look_at(const Wanted& wanted) {
    opened_.reset();
    if (!wanted.uses(kType) && !wanted.uses(kClass) && !wanted.uses(kRetained)) return Unit{};
    const Result<std::shared_ptr<OpenedSnapshot>> asked = snapshots_.usual();
    if (!asked) return asked.error();
    if (asked.value() == nullptr) return Unit{};
    const Result<SnapshotHeap*> heap = asked.value()->heap();
    if (!heap) return heap.error();
    if (wanted.uses(kType)) {
      const Result<const BlockTypes*> types = asked.value()->types();
      if (!types) return types.error();
      types_ = types.value();
    }
    opened_ = asked.value();
    opened_->release_blocks();
    heap_ = heap.value();
    return Unit{};
  }

  // Of a block that lived so; NULL when that was not at the snapshot.
  void column(std::size_t index, const BlockLife& life, ColumnOut& out) {
    const std::uint32_t block = number_of(life);
    if (block == BlockRanks::kNone) return out.null();
    if (index == kType) return out.text(types_->of_block(block).name);
    if (index == kClass) return out.lasting_text(class_word(heap_->reachability().class_of(block)));
    const Dominators& dominators = heap_->dominators();
    const std::uint32_t node = dominators.node_of(block);
    out.number(node == Dominators::kNone ? 0 : dominators.retained_bytes(node));
  }

private:
  std::uint32_t number_of(const BlockLife& life) const {
    if (!opened_) return BlockRanks::kNone;
    const std::uint64_t event = opened_->facts().event;
    if (life.block.event > event || (life.freed && life.freed_event <= event)) return BlockRanks::kNone;
    const std::uint32_t block = heap_->ranks().find(life.block.address);
    const bool is_it = block != BlockRanks::kNone && heap_->ranks().begin(block) == life.block.address;
    return is_it ? block : BlockRanks::kNone;
  }

  AskedSnapshots& snapshots_;
  std::shared_ptr<OpenedSnapshot> opened_; // null: no such column is asked for, or there is no memory
  SnapshotHeap* heap_ = nullptr;           // of opened_
  const BlockTypes* types_ = nullptr;
};

class BlockRows final : public RowCursor {
public:
  BlockRows(const TapeView& view, StackFunction& functions, AskedSnapshots& snapshots, const ShouldStop& should_stop)
      : view_(view), functions_(functions), should_stop_(should_stop), at_snapshot_(snapshots) {}

  void start(const Wanted& wanted) override {
    wanted_ = wanted;
    now_ = nullptr;
    lives_.reset();
    live_.clear();
    next_live_ = 0;
    error_.clear();
    if (const Result<> looked = at_snapshot_.look_at(wanted); !looked) {
      error_ = looked.error().sentence;
      return;
    }
    const auto& ranges = wanted.ranges;
    ended_only_ = !ranges[kFreeEvent].only_null && !ranges[kFreeEvent].is_everything();
    live_only_ = ranges[kFreeEvent].only_null || ranges[kFreeTime].only_null || ranges[kFreeThread].only_null ||
                 ranges[kFreeStack].only_null || ranges[kLifetime].only_null;
    BlockLivesOptions options{.kinds = wanted.uses(kKind) || wanted.texts[kKind].has_value()};
    if (wanted.nothing || (ended_only_ && live_only_) || !made_between(options)) return;
    if (ended_only_) {
      if (ranges[kFreeEvent].last < 1) return;
      options.until = static_cast<std::uint64_t>(ranges[kFreeEvent].last);
    }
    if (live_only_ && !options.kinds)
      list_live(options);
    else
      lives_.emplace(view_.tape(), options);
    next();
  }
  std::string error() const override { return error_; }

  void next() override {
    now_ = nullptr;
    unsigned passed = 0;
    while (const BlockLife* life = next_life()) {
      if (fits(*life)) {
        now_ = life;
        return;
      }
      if (++passed % 16384 == 0 && should_stop_()) return;
    }
  }
  bool at_end() const override { return now_ == nullptr; }
  std::int64_t row_id() const override { return static_cast<std::int64_t>(now_->block.event); }

  void column(std::size_t index, ColumnOut& out) override {
    const Block& block = now_->block;
    if (index >= kType) return at_snapshot_.column(index, *now_, out);
    if (index >= kFreeEvent && !now_->freed) return out.null();
    switch (index) {
    case kAddress: return out.number(block.address);
    case kSize: return out.number(block.size);
    case kKind: return out.lasting_text(kind_name(now_->kind));
    case kAllocEvent: return out.number(block.event);
    case kAllocTime: return out.seconds(block.time_us);
    case kAllocThread: return out.integer(now_->owner.thread.value);
    case kAllocStack: return out.integer(now_->owner.stack.value);
    case kAllocFunction: return function(now_->owner.stack, out);
    case kFreeEvent: return out.number(now_->freed_event);
    case kFreeTime: return out.seconds(now_->freed_us);
    case kFreeThread: return out.integer(now_->freed_thread.value);
    case kFreeStack: return out.integer(now_->freed_stack.value);
    case kFreeFunction: return function(now_->freed_stack, out);
    default: return out.seconds(now_->freed_us - block.time_us);
    }
  }

private:
  void function(StackId stack, ColumnOut& out) {
    const std::string_view name = functions_(stack);
    return name.empty() ? out.null() : out.lasting_text(name);
  }

  // From what is asked about alloc_event and alloc_time; false: there is no such event.
  bool made_between(BlockLivesOptions& options) const {
    const TapeReader& tape = view_.tape();
    const auto& events = wanted_.ranges[kAllocEvent];
    const auto& times = wanted_.ranges[kAllocTime];
    if (events.last < 1 || times.last < 0) return false;
    options.first_made = static_cast<std::uint64_t>(std::max<std::int64_t>(events.first, 1));
    options.last_made = static_cast<std::uint64_t>(events.last);
    if (times.first > 0) {
      EventCursor cursor = tape.events_from_time(static_cast<std::uint64_t>(times.first));
      const Event* first = cursor.peek();
      if (first == nullptr) return false;
      options.first_made = std::max(options.first_made, first->number);
    }
    if (times.last != Wanted::Range().last)
      options.last_made = std::min(options.last_made, last_event_until(tape, static_cast<std::uint64_t>(times.last)));
    return options.first_made <= options.last_made;
  }

  // What lives at the end is near the last keyframe; no need to read the whole tape.
  void list_live(const BlockLivesOptions& options) {
    HeapCursor heap(view_.tape(), view_.index());
    heap.seek_event(options.until);
    heap.state().blocks().for_each([&](const Block& block) {
      if (block.event >= options.first_made && block.event <= options.last_made)
        live_.push_back({.block = block, .owner = heap.owner_of(block)});
    });
    std::sort(live_.begin(), live_.end(),
              [](const BlockLife& a, const BlockLife& b) { return a.block.event < b.block.event; });
  }

  const BlockLife* next_life() {
    if (!lives_) return next_live_ < live_.size() ? &live_[next_live_++] : nullptr;
    while (!lives_->at_end()) {
      if (const BlockLife* life = lives_->try_next()) return life;
      if (should_stop_()) break;
    }
    return nullptr;
  }

  static bool fits(const Wanted::Range& range, std::uint64_t value, bool there) {
    if (range.only_null) return !there;
    return there ? range.contains(value) : range.is_everything();
  }
  bool fits(const BlockLife& life) const {
    if (life.freed ? live_only_ : ended_only_) return false;
    const auto& ranges = wanted_.ranges;
    return ranges[kAddress].contains(life.block.address) && ranges[kSize].contains(life.block.size) &&
           (!wanted_.texts[kKind] || kind_name(life.kind) == *wanted_.texts[kKind]) &&
           ranges[kAllocThread].contains(std::uint64_t{life.owner.thread.value}) &&
           ranges[kAllocStack].contains(std::uint64_t{life.owner.stack.value}) &&
           ranges[kAllocTime].contains(life.block.time_us) && fits(ranges[kFreeEvent], life.freed_event, life.freed) &&
           fits(ranges[kFreeTime], life.freed_us, life.freed) &&
           fits(ranges[kFreeThread], life.freed_thread.value, life.freed) &&
           fits(ranges[kFreeStack], life.freed_stack.value, life.freed) &&
           fits(ranges[kLifetime], life.freed_us - life.block.time_us, life.freed);
  }

  const TapeView& view_;
  StackFunction& functions_;
  const ShouldStop& should_stop_;
  Wanted wanted_;
  bool ended_only_ = false, live_only_ = false;
  std::optional<BlockLives> lives_;
  std::vector<BlockLife> live_; // instead, when no others are asked for
  std::size_t next_live_ = 0;
  const BlockLife* now_ = nullptr;
  BlocksAtSnapshot at_snapshot_;
  std::string error_;
};

class BlockTable final : public Table {
public:
  BlockTable(const TapeView& view, std::shared_ptr<AskedSnapshots> snapshots, const ShouldStop& should_stop)
      : view_(view), functions_(view.names()), snapshots_(std::move(snapshots)), should_stop_(should_stop) {}

  std::string_view name() const override { return "blocks"; }
  std::string_view meaning() const override { return "every block that ever lived, with its end"; }
  std::span<const Column> columns() const override { return kColumns; }
  // It costs as much as reading all events.
  std::uint64_t rows() const override { return view_.tape().event_count(); }
  std::unique_ptr<RowCursor> open() const override {
    return std::make_unique<BlockRows>(view_, functions_, *snapshots_, should_stop_);
  }

private:
  const TapeView& view_;
  mutable StackFunction functions_;
  std::shared_ptr<AskedSnapshots> snapshots_;
  const ShouldStop& should_stop_;
};

} // namespace

std::unique_ptr<Table> make_block_table(const TapeView& view, std::shared_ptr<AskedSnapshots> snapshots,
                                        const ShouldStop& should_stop) {
  return std::make_unique<BlockTable>(view, std::move(snapshots), should_stop);
}

} // namespace heaptape
