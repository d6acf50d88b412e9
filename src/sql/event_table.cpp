// The table "events": every event of the tape, in order.
#include <algorithm>
#include <array>
#include <optional>

#include "sql/stack_function.h"
#include "sql/tables.h"

namespace heaptape {
namespace {

enum Field : std::size_t {
  kNumber,
  kTimeUs,
  kTime,
  kThread,
  kKind,
  kAddress,
  kSize,
  kOldAddress,
  kStack,
  kFunction,
  kPool
};

using enum ColumnType;
constexpr std::array kColumns{
    Column{"number", Integer, Narrow::Reading, "counted from 1 over the whole tape"},
    Column{"time_us", Integer, Narrow::Reading, "microseconds since the start of the recording"},
    Column{"time", Real, Narrow::Reading, "the same in seconds"},
    Column{"thread", Integer, Narrow::Rows, "threads.id"},
    Column{"kind", Text, Narrow::Rows, "'malloc', 'free', 'operator new', ..."},
    Column{"address", Integer, Narrow::Rows, "of the block or mapping"},
    Column{"size", Integer, Narrow::Rows, "bytes as asked for; NULL for releases", true},
    Column{"old_address", Integer, Narrow::Rows, "what a realloc or mremap replaced; else NULL", true},
    Column{"stack", Integer, Narrow::Rows, "stacks.id; 0: none"},
    Column{"fn", Text, Narrow::Nothing, "the function charged: the innermost that is not plumbing", true},
    Column{"pool", Integer, Narrow::Rows, "pools.number of a pool's event; else NULL", true},
};

class EventRows final : public RowCursor {
public:
  EventRows(const TapeView& view, StackFunction& functions, const ShouldStop& should_stop)
      : tape_(view.tape()), functions_(functions), should_stop_(should_stop) {}

  void start(const Wanted& wanted) override {
    wanted_ = wanted;
    now_ = nullptr;
    const auto& number = wanted.ranges[kNumber];
    first_us_ = std::max(wanted.ranges[kTimeUs].first, wanted.ranges[kTime].first);
    last_us_ = std::min(wanted.ranges[kTimeUs].last, wanted.ranges[kTime].last);
    if (wanted.nothing || number.last < 1 || last_us_ < std::max<std::int64_t>(first_us_, 0)) return;
    kinds_ = ~std::uint64_t{0};
    if (wanted.texts[kKind]) kinds_ = kinds_called(*wanted.texts[kKind]);
    go_to(static_cast<std::uint64_t>(std::max<std::int64_t>(number.first, 1)));
    next();
  }

  void next() override {
    now_ = nullptr;
    unsigned passed = 0;
    while (const Event* event = events_->next()) {
      if (static_cast<std::int64_t>(event->number) > wanted_.ranges[kNumber].last ||
          static_cast<std::int64_t>(event->time_us) > last_us_)
        return;
      if (fits(*event)) {
        now_ = event;
        return;
      }
      if (++passed % 16384 == 0 && should_stop_()) return;
    }
  }
  bool at_end() const override { return now_ == nullptr; }
  std::int64_t row_id() const override { return static_cast<std::int64_t>(now_->number); }

  void column(std::size_t index, ColumnOut& out) override {
    switch (index) {
    case kNumber: return out.number(now_->number);
    case kTimeUs: return out.number(now_->time_us);
    case kTime: return out.seconds(now_->time_us);
    case kThread: return out.integer(now_->thread.value);
    case kKind: return out.lasting_text(kind_name(now_->kind));
    case kAddress: return out.number(now_->address);
    case kSize: return has_size(now_->kind) ? out.number(now_->size) : out.null();
    case kOldAddress: return number_or_null(replaced_by(*now_), out);
    case kStack: return out.integer(now_->stack.value);
    case kPool: return number_or_null(pool_of(*now_), out);
    default: {
      const std::string_view function = functions_(now_->stack);
      return function.empty() ? out.null() : out.lasting_text(function);
    }
    }
  }

private:
  static void number_or_null(std::uint64_t number, ColumnOut& out) { number == 0 ? out.null() : out.number(number); }

  static std::uint64_t kinds_called(std::string_view name) {
    std::uint64_t bits = 0;
    for (unsigned kind = 1; kind < static_cast<unsigned>(EventKind::TapeKinds); ++kind) {
      if (kind_name(static_cast<EventKind>(kind)) == name) bits |= std::uint64_t{1} << kind;
    }
    return bits;
  }

  // To the first event that number and time allow.
  void go_to(std::uint64_t number) {
    if (first_us_ > 0) {
      EventCursor by_time = tape_.events_from_time(static_cast<std::uint64_t>(first_us_));
      const Event* first = by_time.peek();
      const bool later = first == nullptr || first->number >= number;
      if (later) {
        events_ = std::move(by_time);
        return;
      }
    }
    // A join asks for one event after another; those that are near need not be looked for from the start of their part
    // of the tape.
    constexpr std::uint64_t kNear = 20'000;
    const Event* ahead = events_ ? events_->peek() : nullptr;
    if (ahead == nullptr || ahead->number > number || number - ahead->number > kNear) {
      events_ = tape_.events(number);
    } else {
      while (!events_->next_run_until(number - 1).empty()) {}
    }
  }

  static bool fits(const Wanted::Range& range, std::uint64_t value, bool there) {
    if (range.only_null) return !there;
    return there ? range.contains(value) : range.is_everything();
  }
  bool fits(const Event& event) const {
    const auto& ranges = wanted_.ranges;
    return (kinds_ >> static_cast<unsigned>(event.kind) & 1) != 0 &&
           ranges[kThread].contains(std::uint64_t{event.thread.value}) && ranges[kAddress].contains(event.address) &&
           ranges[kStack].contains(std::uint64_t{event.stack.value}) &&
           fits(ranges[kSize], event.size, has_size(event.kind)) &&
           fits(ranges[kOldAddress], replaced_by(event), replaced_by(event) != 0) &&
           fits(ranges[kPool], pool_of(event), pool_of(event) != 0);
  }

  const TapeReader& tape_;
  StackFunction& functions_;
  const ShouldStop& should_stop_;
  Wanted wanted_;
  std::int64_t first_us_ = 0, last_us_ = 0;
  std::uint64_t kinds_ = 0;
  std::optional<EventCursor> events_;
  const Event* now_ = nullptr;
};

class EventTable final : public Table {
public:
  EventTable(const TapeView& view, const ShouldStop& should_stop)
      : view_(view), functions_(view.names()), should_stop_(should_stop) {}

  std::string_view name() const override { return "events"; }
  std::string_view meaning() const override { return "every event of the tape, in order"; }
  std::span<const Column> columns() const override { return kColumns; }
  std::uint64_t rows() const override { return view_.tape().event_count(); }
  std::optional<std::size_t> key() const override { return kNumber; }
  bool is_ordered_by(std::size_t column) const override {
    return column == kNumber || column == kTimeUs || column == kTime;
  }
  std::unique_ptr<RowCursor> open() const override {
    return std::make_unique<EventRows>(view_, functions_, should_stop_);
  }

private:
  const TapeView& view_;
  mutable StackFunction functions_;
  const ShouldStop& should_stop_;
};

} // namespace

std::unique_ptr<Table> make_event_table(const TapeView& view, const ShouldStop& should_stop) {
  return std::make_unique<EventTable>(view, should_stop);
}

} // namespace heaptape
