// The table "refs": every word of roots and live blocks that leads to a live block, at a snapshot of memory. Roots come first, then blocks by
// address; nothing is kept of what was given.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "analysis/memory/edge_cursor.h"
#include "report/names/program_symbols.h"
#include "sql/asked_snapshot.h"
#include "sql/tables.h"

namespace heaptape {
namespace {

enum Field : std::size_t { kPlace, kFromBlock, kOffset, kAddress, kRoot, kToBlock, kInside, kAt };

using enum ColumnType;
constexpr std::array kColumns{
    Column{
        "place", Text, Narrow::Rows,
        "where the word lies: 'block', 'variable', 'thread-local', 'register', 'stack', 'mapping', 'shared', 'code'"},
    Column{"from_block", Integer, Narrow::Reading, "the block it lies in, as blocks.address; NULL: it lies in a root",
           true},
    Column{"offset", Integer, Narrow::Nothing,
           "of the word in its block, or in the stack or other range of the root; NULL: in a register, or not readable",
           true},
    Column{"address", Integer, Narrow::Nothing, "of the word; NULL: in a register, or not readable", true},
    Column{"root", Text, Narrow::Nothing, "the root's name: 'g_cache', 'stack of thread 4711'; NULL: in a block", true},
    Column{"to_block", Integer, Narrow::Reading, "the block it leads to, as blocks.address"},
    Column{"inside", Integer, Narrow::Nothing, "where in that block; 0: to its start"},
    Column{"at", Text, Narrow::Rows, kSnapshotArgument, false, true},
};

constexpr std::string_view place_word(RootKind kind) {
  switch (kind) {
  case RootKind::Registers: return "register";
  case RootKind::Stack: return "stack";
  case RootKind::ThreadLocal: return "thread-local";
  case RootKind::Globals: return "variable";
  case RootKind::Mapping: return "mapping";
  case RootKind::Shared: return "shared";
  case RootKind::Code: return "code";
  case RootKind::Named: return "named";
  }
  return "";
}

// Numbers of blocks.
struct BlockRange {
  std::uint32_t first = 0, end = 0;
  bool holds(std::uint32_t block) const { return block >= first && block < end; }
  bool empty() const { return first >= end; }
};

BlockRange blocks_in(const BlockRanks& ranks, const Wanted::Range& range) {
  if (range.last < 0) return {};
  const auto first = static_cast<std::uint64_t>(std::max<std::int64_t>(range.first, 0));
  return {ranks.first_from(first), ranks.first_from(static_cast<std::uint64_t>(range.last) + 1)};
}

class ReferenceRows final : public RowCursor {
public:
  ReferenceRows(const TapeView& view, AskedSnapshots& snapshots, const ShouldStop& should_stop)
      : view_(view), snapshots_(snapshots), should_stop_(should_stop) {}

  void start(const Wanted& wanted) override {
    edges_.reset();
    error_.clear();
    row_ = 0;
    at_end_ = true;
    if (wanted.nothing) return;
    at_ = wanted.texts[kAt];
    const Result<std::shared_ptr<OpenedSnapshot>> asked = snapshots_.at(at_);
    if (!asked) {
      error_ = asked.error().sentence;
      return;
    }
    if (opened_ != asked.value()) symbols_.reset();
    opened_ = asked.value();
    const Result<SnapshotHeap*> heap = opened_->heap();
    if (!heap) {
      error_ = heap.error().sentence;
      return;
    }
    opened_->release_blocks();
    heap_ = heap.value();
    const BlockRanks& ranks = heap_->ranks();
    const Wanted::Range& from = wanted.ranges[kFromBlock];
    place_ = wanted.texts[kPlace];
    from_ = from.only_null ? BlockRange() : blocks_in(ranks, from);
    if (place_ && *place_ != "block") from_ = {};
    to_ = blocks_in(ranks, wanted.ranges[kToBlock]);
    everything_ = wanted.ranges[kToBlock].is_everything();
    root_ = from.only_null || from.is_everything() ? 0 : heap_->roots().words().size();
    in_root_ = true;
    block_ = from_.first;
    edges_.emplace(heap_->view());
    has_block_ = false;
    at_end_ = to_.empty() || wanted.ranges[kToBlock].only_null;
    if (!at_end_) go_on();
  }
  std::string error() const override { return error_; }
  void next() override {
    ++row_;
    if (in_root_) ++root_;
    go_on();
  }
  bool at_end() const override { return at_end_; }
  std::int64_t row_id() const override { return row_; }

  void column(std::size_t index, ColumnOut& out) override {
    if (index == kAt) return out.text(at_.value_or(""));
    in_root_ ? root_column(index, out) : block_column(index, out);
  }

private:
  void go_on() {
    const std::span<const RootWord> words = heap_->roots().words();
    for (; root_ < words.size(); ++root_) {
      if (to_.holds(words[root_].block) && (!place_ || *place_ == place_word(range_of(words[root_]).kind))) return;
    }
    in_root_ = false;
    at_end_ = !next_edge();
  }
  bool next_edge() {
    const ReferenceGraph& graph = heap_->view().graph;
    unsigned passed = 0;
    while (true) {
      while (has_block_) {
        const std::optional<WalkedEdge> edge = edges_->next();
        has_block_ = edge.has_value();
        if (!edge || !to_.holds(edge->target)) continue;
        edge_ = *edge;
        return true;
      }
      // Of blocks that do not lead there nothing needs to be read.
      while (block_ < from_.end && !leads_there(graph, block_)) {
        ++block_;
        if (++passed % 65'536 == 0 && should_stop_()) return false;
      }
      if (block_ >= from_.end) return false;
      source_ = block_++;
      edges_->go_to(source_);
      has_block_ = true;
    }
  }
  bool leads_there(const ReferenceGraph& graph, std::uint32_t block) const {
    if (everything_) return graph.first(block) != graph.first(block + 1);
    return std::ranges::any_of(graph.targets(block), [&](std::uint32_t target) { return to_.holds(target); });
  }
  const RootRange& range_of(const RootWord& word) const { return heap_->roots().ranges()[word.range]; }

  void root_column(std::size_t index, ColumnOut& out) {
    const RootWord& word = heap_->roots().words()[root_];
    const RootRange& range = range_of(word);
    const bool in_memory = range.kind != RootKind::Registers;
    switch (index) {
    case kPlace: return out.lasting_text(place_word(range.kind));
    case kOffset: return in_memory ? out.number(word.address - range.begin) : out.null();
    case kAddress: return in_memory ? out.number(word.address) : out.null();
    case kRoot: return out.text(root_name(range, word.address));
    case kToBlock: return out.number(heap_->ranks().begin(word.block));
    case kInside: return out.number(word.offset);
    default: return out.null();
    }
  }
  void block_column(std::size_t index, ColumnOut& out) {
    const std::uint64_t source = heap_->ranks().begin(source_);
    const bool known = edge_.offset != WalkedEdge::kUnknown;
    switch (index) {
    case kPlace: return out.lasting_text("block");
    case kFromBlock: return out.number(source);
    case kOffset: return known ? out.number(edge_.offset) : out.null();
    case kAddress: return known ? out.number(source + edge_.offset) : out.null();
    case kToBlock: return out.number(heap_->ranks().begin(edge_.target));
    case kInside: return out.number(edge_.inside);
    default: return out.null();
    }
  }
  std::string root_name(const RootRange& range, std::uint64_t word) {
    if (range.kind != RootKind::Globals) return root_text(opened_->memory(), range, word);
    if (!symbols_) symbols_.emplace(view_.tape());
    const auto symbol = symbols_->at(word, opened_->facts().time_us);
    return symbol ? symbol->name : root_text(opened_->memory(), range, word);
  }

  const TapeView& view_;
  AskedSnapshots& snapshots_;
  const ShouldStop& should_stop_;
  std::shared_ptr<OpenedSnapshot> opened_;
  SnapshotHeap* heap_ = nullptr;
  std::optional<ProgramSymbols> symbols_;
  std::optional<std::string> at_, place_;
  std::string error_;
  BlockRange from_, to_;
  bool everything_ = false; // all references are wanted, wherever they lead
  std::size_t root_ = 0;    // number in Roots::words
  bool in_root_ = true, at_end_ = true;
  std::uint32_t block_ = 0;  // the next to look at
  std::uint32_t source_ = 0; // the one being read, while has_block_
  bool has_block_ = false;
  std::optional<EdgeCursor> edges_;
  WalkedEdge edge_;
  std::int64_t row_ = 0;
};

class ReferenceTable final : public Table {
public:
  ReferenceTable(const TapeView& view, std::shared_ptr<AskedSnapshots> snapshots, const ShouldStop& should_stop)
      : view_(view), snapshots_(std::move(snapshots)), should_stop_(should_stop) {}

  std::string_view name() const override { return "refs"; }
  std::string_view meaning() const override { return "who leads to which block, at a snapshot of memory"; }
  std::span<const Column> columns() const override { return kColumns; }
  // Nobody knows before they are looked for; two for each block is usual.
  std::uint64_t rows() const override {
    const Snapshots& snapshots = view_.tape().snapshots();
    const auto live = snapshots.empty() ? std::nullopt : snapshots[snapshots.size() - 1].live;
    return 2 * (live ? live->blocks : 1'000'000);
  }
  std::unique_ptr<RowCursor> open() const override {
    return std::make_unique<ReferenceRows>(view_, *snapshots_, should_stop_);
  }

private:
  const TapeView& view_;
  std::shared_ptr<AskedSnapshots> snapshots_;
  const ShouldStop& should_stop_;
};

} // namespace

std::unique_ptr<Table> make_reference_table(const TapeView& view, std::shared_ptr<AskedSnapshots> snapshots,
                                            const ShouldStop& should_stop) {
  return std::make_unique<ReferenceTable>(view, std::move(snapshots), should_stop);
}

} // namespace heaptape
