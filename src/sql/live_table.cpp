// The table "live": the blocks that were live at a moment, in the order in which they were made. The moment is the
// table's argument.
#include <algorithm>
#include <array>

#include "analysis/moment/heap_cursor.h"
#include "sql/stack_function.h"
#include "sql/tables.h"

namespace heaptape {
namespace {

enum Field : std::size_t { kAddress, kSize, kEvent, kTime, kThread, kStack, kFunction, kAge, kAt };

using enum ColumnType;
constexpr std::array kColumns{
    Column{"address", Integer, Narrow::Nothing, "where it starts"},
    Column{"size", Integer, Narrow::Nothing, "bytes as asked for"},
    Column{"event", Integer, Narrow::Nothing, "events.number of the event that made it"},
    Column{"time", Real, Narrow::Nothing, "when that was, in seconds since the start"},
    Column{"thread", Integer, Narrow::Nothing, "threads.id"},
    Column{"stack", Integer, Narrow::Nothing, "stacks.id; 0: none"},
    Column{"fn", Text, Narrow::Nothing, "the function charged: the innermost that is not plumbing", true},
    Column{"age", Real, Narrow::Nothing, "seconds from then to the moment"},
    Column{"at", Text, Narrow::Rows, "the moment: live('peak'), live(1000), live('12.5s'); live alone is the end",
           false, true},
};

class LiveRows final : public RowCursor {
public:
  LiveRows(const TapeView& view, StackFunction& functions) : view_(view), functions_(functions) {}

  void start(const Wanted& wanted) override {
    blocks_.clear();
    row_ = 0;
    error_.clear();
    if (wanted.nothing) return;
    at_ = wanted.texts[kAt].value_or("end");
    const Result<Moment> moment = view_.moment(at_);
    if (!moment) {
      error_ = moment.error().sentence;
      return;
    }
    now_us_ = moment.value().time_us;
    HeapCursor heap(view_.tape(), view_.index());
    heap.seek_event(moment.value().event);
    heap.state().blocks().for_each([&](const Block& block) { blocks_.push_back({block, heap.owner_of(block)}); });
    std::sort(blocks_.begin(), blocks_.end(), [](const Row& a, const Row& b) { return a.block.event < b.block.event; });
  }
  std::string error() const override { return error_; }
  void next() override { ++row_; }
  bool at_end() const override { return row_ >= blocks_.size(); }
  std::int64_t row_id() const override { return static_cast<std::int64_t>(blocks_[row_].block.event); }

  void column(std::size_t index, ColumnOut& out) override {
    const auto& [block, owner] = blocks_[row_];
    switch (index) {
    case kAddress: return out.number(block.address);
    case kSize: return out.number(block.size);
    case kEvent: return out.number(block.event);
    case kTime: return out.seconds(block.time_us);
    case kThread: return out.integer(owner.thread.value);
    case kStack: return out.integer(owner.stack.value);
    case kFunction: {
      const std::string_view function = functions_(owner.stack);
      return function.empty() ? out.null() : out.lasting_text(function);
    }
    case kAge: return out.seconds(now_us_ > block.time_us ? now_us_ - block.time_us : 0);
    default: return out.text(at_);
    }
  }

private:
  struct Row {
    Block block;
    Owner owner;
  };
  const TapeView& view_;
  StackFunction& functions_;
  std::string at_, error_;
  std::uint64_t now_us_ = 0;
  std::vector<Row> blocks_;
  std::size_t row_ = 0;
};

class LiveTable final : public Table {
public:
  explicit LiveTable(const TapeView& view) : view_(view), functions_(view.names()) {}

  std::string_view name() const override { return "live"; }
  std::string_view meaning() const override { return "the blocks that were live at a moment, such as live('peak')"; }
  std::span<const Column> columns() const override { return kColumns; }
  // To get there costs more than the rows do.
  std::uint64_t rows() const override { return view_.findings().totals.live_blocks + 1'000'000; }
  bool is_ordered_by(std::size_t column) const override { return column == kEvent || column == kTime; }
  std::unique_ptr<RowCursor> open() const override { return std::make_unique<LiveRows>(view_, functions_); }

private:
  const TapeView& view_;
  mutable StackFunction functions_;
};

} // namespace

std::unique_ptr<Table> make_live_table(const TapeView& view) { return std::make_unique<LiveTable>(view); }

} // namespace heaptape
