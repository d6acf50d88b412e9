// The tables about snapshots of memory that are lists: snapshots, types.
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "report/contents/snapshot_list.h"
#include "report/contents/type_sums.h"
#include "sql/asked_snapshot.h"
#include "sql/list_table.h"
#include "sql/tables.h"

namespace heaptape {
namespace {

using enum ColumnType;

constexpr std::array kSnapshotColumns{
    Column{"id", Integer, Narrow::Nothing, "as snapshot:ID names it; this and what is NULL below: it holds no memory",
           true},
    Column{"name", Text, Narrow::Nothing, "as it was given"},
    Column{"event", Integer, Narrow::Nothing, "the last event before it; 0: none"},
    Column{"time", Real, Narrow::Nothing, "seconds since the start"},
    Column{"method", Text, Narrow::Nothing, "how the memory was copied: 'live', 'twin', 'stop'", true},
    Column{"pages", Integer, Narrow::Nothing, "of memory that it knows the contents of", true},
    Column{"new_pages", Integer, Narrow::Nothing, "of these, written with it", true},
    Column{"bytes", Integer, Narrow::Nothing, "that those take on the tape", true},
    Column{"pause", Real, Narrow::Nothing, "seconds that the program stood still", true},
    Column{"duration", Real, Narrow::Nothing, "seconds from the first page read to the last one written", true},
    Column{"live_bytes", Integer, Narrow::Nothing, "of the heap at its moment"},
};
enum SnapshotField : std::size_t {
  kId,
  kName,
  kEvent,
  kTime,
  kMethod,
  kPages,
  kNewPages,
  kBytes,
  kPause,
  kDuration,
  kLiveBytes
};

constexpr std::array kTypeColumns{
    Column{"name", Text, Narrow::Nothing, "of the type; <FUNCTION>: not known, made by that function"},
    Column{"known_by", Text, Narrow::Nothing, "'vtable', 'frame', 'runtime', 'derived', 'function' or 'none'"},
    Column{"blocks", Integer, Narrow::Nothing, "of this type"},
    Column{"bytes", Integer, Narrow::Nothing, "of these, as asked for"},
    Column{"retained", Integer, Narrow::Nothing,
           "bytes of these and of all blocks that can be got at only through one of them"},
    Column{"example", Integer, Narrow::Nothing, "address of one of them"},
    Column{"at", Text, Narrow::Rows, kSnapshotArgument, false, true},
};
enum TypeField : std::size_t { kTypeName, kKnownBy, kBlocks, kTypeBytes, kRetained, kExample, kTypeAt };

// Each part is worked out when a statement first wants it.
struct SnapshotFacts {
  std::vector<ListedSnapshot> list;
  bool has_pages = false, has_live = false;
};

class TypeRows final : public RowCursor {
public:
  explicit TypeRows(AskedSnapshots& snapshots) : snapshots_(snapshots) {}

  void start(const Wanted& wanted) override {
    sums_.clear();
    row_ = 0;
    error_.clear();
    if (wanted.nothing) return;
    at_ = wanted.texts[kTypeAt];
    if (const Result<> done = work_out(wanted.uses(kRetained)); !done) error_ = done.error().sentence;
  }
  std::string error() const override { return error_; }
  void next() override { ++row_; }
  bool at_end() const override { return row_ >= sums_.size(); }
  std::int64_t row_id() const override { return static_cast<std::int64_t>(row_ + 1); }

  void column(std::size_t index, ColumnOut& out) override {
    const TypeSum& sum = sums_[row_];
    switch (index) {
    case kTypeName: return out.text((*types_)[sum.type].name);
    case kKnownBy: return out.lasting_text(source_name((*types_)[sum.type].source));
    case kBlocks: return out.number(sum.blocks);
    case kTypeBytes: return out.number(sum.bytes);
    case kRetained: return out.number(sum.retained_bytes);
    case kExample: return out.number(sum.example);
    default: return out.text(at_.value_or(""));
    }
  }

private:
  Result<> work_out(bool retained) {
    const Result<std::shared_ptr<OpenedSnapshot>> asked = snapshots_.at(at_);
    if (!asked) return asked.error();
    opened_ = asked.value();
    const Result<const BlockTypes*> types = opened_->types();
    if (!types) return types.error();
    opened_->release_blocks();
    types_ = types.value();
    const Result<SnapshotHeap*> heap = opened_->heap();
    if (!heap) return heap.error();
    sums_ = type_sums(*heap.value(), *types_, retained);
    return Unit{};
  }

  AskedSnapshots& snapshots_;
  std::shared_ptr<OpenedSnapshot> opened_;
  const BlockTypes* types_ = nullptr; // of opened_
  std::optional<std::string> at_;
  std::string error_;
  std::vector<TypeSum> sums_;
  std::size_t row_ = 0;
};

class TypeTable final : public Table {
public:
  explicit TypeTable(std::shared_ptr<AskedSnapshots> snapshots) : snapshots_(std::move(snapshots)) {}

  std::string_view name() const override { return "types"; }
  std::string_view meaning() const override { return "what the heap consisted of, at a snapshot of memory"; }
  std::span<const Column> columns() const override { return kTypeColumns; }
  // To get there costs more than the rows do.
  std::uint64_t rows() const override { return 1'000'000; }
  std::unique_ptr<RowCursor> open() const override { return std::make_unique<TypeRows>(*snapshots_); }

private:
  std::shared_ptr<AskedSnapshots> snapshots_;
};

} // namespace

std::unique_ptr<Table> make_snapshot_table(const TapeView& view, const ShouldStop& should_stop) {
  auto facts = std::make_shared<SnapshotFacts>();
  facts->list = list_snapshots(view.tape(), view.marks());
  return std::make_unique<ListTable>(
      ListTableParts{.name = "snapshots",
                     .meaning = "the snapshots, with and without the program's memory",
                     .columns = kSnapshotColumns,
                     .count = facts->list.size(),
                     .value = [&view, &should_stop, facts](std::size_t row, std::size_t column, ColumnOut& out) {
                       if ((column == kPages || column == kBytes) && !std::exchange(facts->has_pages, true))
                         add_pages(view.tape(), facts->list);
                       if (column == kLiveBytes && !std::exchange(facts->has_live, true)) {
                         std::vector<Damage> damage; // is in the table of that name
                         add_live_bytes(view.tape(), facts->list, should_stop, damage);
                       }
                       const ListedSnapshot& one = facts->list[row];
                       const MemorySnapshot* const memory = one.memory;
                       switch (column) {
                       case kName: return out.lasting_text(one.name);
                       case kEvent: return out.number(one.event);
                       case kTime: return out.seconds(one.time_us);
                       case kLiveBytes: return out.number(one.live_bytes);
                       default: break;
                       }
                       if (memory == nullptr) return out.null();
                       switch (column) {
                       case kId: return out.number(memory->number);
                       case kMethod: return out.lasting_text(snapshot_method_name(memory->method));
                       case kPages: return out.number(one.pages);
                       case kNewPages: return out.number(memory->new_pages);
                       case kBytes: return out.number(one.tape_bytes);
                       case kPause: return out.seconds(memory->pause_us);
                       default: return out.seconds(memory->duration_us);
                       }
                     }});
}

std::unique_ptr<Table> make_type_table(std::shared_ptr<AskedSnapshots> snapshots) {
  return std::make_unique<TypeTable>(std::move(snapshots));
}

} // namespace heaptape
