#include "report/changes/snapshot_changes.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/moment/heap_cursor.h"
#include "base/number_text.h"
#include "report/contents/snapshot_memory.h"
#include "report/names/stack_paths.h"
#include "report/names/stack_text.h"
#include "report/select/runtime_pools.h"

namespace heaptape {
namespace {

constexpr std::size_t kCallers = 4;

// One moment: the live blocks and, if they are asked for, the memory with its types.
struct Side {
  Side(const TapeView& tape, const Moment& moment)
      : view(tape), at(tape.tape(), tape.index()), plumbing(tape.names()), pools(tape.names()), texts(tape.names()) {
    at.seek_event(moment.event);
  }
  Result<> open_memory(std::size_t snapshot) {
    memory = std::make_unique<SnapshotMemory>(view.tape(), snapshot, SymbolOptions());
    Result<std::unique_ptr<SnapshotHeap>> made = SnapshotHeap::make(view.tape(), *memory, at);
    if (!made) return made.error();
    heap = std::move(made).value();
    types.emplace(BlockTypes::of(*heap, view.names()));
    return Unit{};
  }
  const TapeReader& tape() const { return view.tape(); }

  const TapeView& view;
  HeapCursor at;
  std::unique_ptr<SnapshotMemory> memory{};
  std::unique_ptr<SnapshotHeap> heap{};
  std::optional<BlockTypes> types{};
  Plumbing plumbing;
  RuntimePools pools;
  StackText texts;
  std::vector<std::uint32_t> row_of_type{};
  std::unordered_map<std::uint32_t, std::uint32_t> row_of_stack{};
};

class ChangesMaker {
public:
  ChangesMaker(const TapeView& before, const TapeView& after, const ChangesQuestion& question)
      : question_(question), before_view_(before), after_view_(after), one_tape_(&before == &after) {}

  Result<SnapshotChanges> make(Moment from, Moment to) {
    const Result<std::optional<std::size_t>> first = memory_at(before_view_, from), second = memory_at(after_view_, to);
    if (!first) return first.error();
    if (!second) return second.error();
    if (const Result<> good = check(first.value(), second.value(), from, to); !good) return good.error();
    changes_.by = question_.by;
    changes_.one_tape = one_tape_;
    changes_.before = side_of(before_view_, from, first.value());
    changes_.after = side_of(after_view_, to, second.value());

    Side later(after_view_, to);
    const bool by_type = question_.by == ChangesBy::Type;
    {
      Side earlier(before_view_, from);
      if (by_type) {
        if (const Result<> opened = earlier.open_memory(*first.value()); !opened) return opened.error();
      }
      take_earlier(earlier, later);
    }
    if (second.value()) {
      if (const Result<> opened = later.open_memory(*second.value()); !opened) return opened.error();
    } else {
      changes_.no_holders = after_view_.tape().snapshots().empty()
                                ? "the tape has no memory of the program ('heaptape record --snapshot WHEN' keeps it)"
                                : "the tape has no memory of the later moment ('heaptape snapshots' says of which)";
    }
    take_later(later, from.event);
    choose_rows();
    if (later.heap != nullptr) add_holders(later, from.event);
    return std::move(changes_);
  }

private:
  // By types the last snapshot with memory up to the moment, which it is then; else that of the moment itself, if there is one.
  Result<std::optional<std::size_t>> memory_at(const TapeView& view, Moment& moment) const {
    const Result<std::size_t> found = find_snapshot(view.tape(), moment.event, moment.snapshot);
    if (question_.by != ChangesBy::Type) {
      if (found && view.tape().snapshots()[found.value()].event == moment.event) return std::optional(found.value());
      return std::optional<std::size_t>();
    }
    if (!found)
      return Error{found.error().code, "what the blocks are is found in the program's memory, and " +
                                           found.error().sentence + "; '--by function' and '--by stack' need none"};
    const MemorySnapshot& snapshot = view.tape().snapshots()[found.value()];
    moment.event = snapshot.event;
    moment.time_us = snapshot.time_us;
    return std::optional(found.value());
  }
  Result<> check(std::optional<std::size_t> first, std::optional<std::size_t> second, const Moment& from,
                 const Moment& to) const {
    if (!one_tape_) return Unit{};
    if (from.event > to.event || (first && second && *first > *second))
      return Error{ErrorCode::Usage, "'" + printable(from.label) + "' is later than '" + printable(to.label) +
                                         "'; give the earlier moment first"};
    if (question_.by == ChangesBy::Type && first == second)
      return Error{ErrorCode::Usage, "both moments have the memory of one snapshot, number " +
                                         std::to_string(before_view_.tape().snapshots()[*first].number) +
                                         "; give two of them ('heaptape snapshots' lists them), or pass --by function"};
    return Unit{};
  }
  static ChangedSide side_of(const TapeView& view, const Moment& moment, std::optional<std::size_t> snapshot) {
    return {&view, moment, snapshot ? &view.tape().snapshots()[*snapshot] : nullptr};
  }

  // All blocks of a side that the filter accepts: visit(address, size, event, row). By type those that the memory has.
  template <class Visit>
  void for_each_block(Side& side, Visit visit) {
    if (question_.by != ChangesBy::Type) {
      side.at.state().blocks().for_each([&](const Block& block) {
        const std::uint32_t row = row_of(side, side.at.owner_of(block).stack);
        if (row != NewBlocks::kNotAsked) visit(block.address, block.size, block.event, row);
      });
      return;
    }
    const BlockRanks& ranks = side.heap->ranks();
    for (std::uint32_t block = 0; block < ranks.size(); ++block) {
      const std::uint32_t row = row_of(side, block);
      if (row == NewBlocks::kNotAsked) continue;
      const std::optional<Block> made = side.at.find(ranks.begin(block));
      visit(ranks.begin(block), ranks.bytes(block), made ? made->event : 0, row);
    }
  }

  void take_earlier(Side& earlier, Side& later) {
    const std::uint64_t moment = changes_.before.moment.event;
    for_each_block(earlier, [&](std::uint64_t address, std::uint64_t size, std::uint64_t, std::uint32_t row) {
      changes_.before.live.add(size);
      if (one_tape_) {
        const std::optional<Block> now = later.at.find(address);
        if (now && now->event <= moment) return; // counted where it is now
        rows_[row].gone.add(size);
        changes_.gone.add(size);
      }
      rows_[row].before.add(size);
    });
  }
  void take_later(Side& later, std::uint64_t moment) {
    for_each_block(later, [&](std::uint64_t, std::uint64_t size, std::uint64_t event, std::uint32_t row) {
      changes_.after.live.add(size);
      rows_[row].after.add(size);
      if (!one_tape_) return;
      if (event <= moment) {
        rows_[row].before.add(size);
      } else {
        rows_[row].made.add(size);
        changes_.made.add(size);
      }
    });
  }

  // The row of a block by the number that it has in the memory.
  std::uint32_t row_of(Side& side, std::uint32_t block) {
    const StackId stack = side.heap->stack_of(block);
    if (question_.by != ChangesBy::Type) return row_of(side, stack);
    if (!accepts(side, stack)) return NewBlocks::kNotAsked;
    const std::uint32_t type = side.types->type_of(block);
    if (side.row_of_type.empty()) side.row_of_type.assign(side.types->size(), NewBlocks::kNotAsked);
    std::uint32_t& row = side.row_of_type[type];
    if (row != NewBlocks::kNotAsked) return row;
    const BlockType& known = (*side.types)[type];
    row = row_named(known.name);
    rows_[row].name = known.name;
    rows_[row].known_by = source_name(known.source);
    return row;
  }
  std::uint32_t row_of(Side& side, StackId stack) {
    const auto [found, is_new] = side.row_of_stack.try_emplace(stack.value, NewBlocks::kNotAsked);
    if (!is_new || !accepts(side, stack)) return found->second;
    StackNames& names = side.view.names();
    if (question_.by == ChangesBy::Function) {
      const std::string function = function_of(side, stack);
      found->second = row_named(function);
      rows_[found->second].name = function;
      return found->second;
    }
    found->second = row_named(std::to_string(paths_.path_of(names, stack).value));
    ChangedRow& row = rows_[found->second];
    const bool of_after = &side.view == &after_view_;
    if (row.name.empty() || of_after != row.of_after) {
      row.name = side.texts.chain(stack, kCallers);
      row.stack = stack;
      row.of_after = of_after;
    }
    return found->second;
  }
  static std::string function_of(Side& side, StackId stack) {
    StackNames& names = side.view.names();
    const std::vector<FrameId> frames = names.frames_of(stack);
    if (frames.empty()) return "(no stack)";
    if (const std::string_view pool = side.pools.of(frames); !pool.empty()) return "(" + std::string(pool) + ")";
    return std::string(names.function(frames[charged_frame(side.plumbing, frames)]));
  }
  bool accepts(Side& side, StackId stack) {
    return question_.filter.empty() || question_.filter.accepts(side.view.names(), stack);
  }
  std::uint32_t row_named(const std::string& key) {
    const auto [found, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(rows_.size()));
    if (is_new) rows_.emplace_back();
    return found->second;
  }

  // Puts those that changed into the answer; order_ says which they were.
  void choose_rows() {
    order_.resize(rows_.size());
    std::iota(order_.begin(), order_.end(), 0U);
    std::erase_if(order_, [&](std::uint32_t row) { return !rows_[row].has_changed(); });
    changes_.unchanged = rows_.size() - order_.size();
    const auto weight = [&](std::uint32_t number) {
      const ChangedRow& row = rows_[number];
      return std::tuple(std::abs(row.bytes()), std::abs(row.blocks()), row.made.bytes);
    };
    std::ranges::stable_sort(order_, [&](std::uint32_t a, std::uint32_t b) { return weight(a) > weight(b); });
    for (const std::uint32_t row : order_) changes_.rows.push_back(rows_[row]);
  }

  void add_holders(Side& later, std::uint64_t moment) {
    const BlockRanks& ranks = later.heap->ranks();
    std::vector<bool> is_new(ranks.size());
    std::vector<std::uint32_t> what(ranks.size(), NewBlocks::kNotAsked);
    for (std::uint32_t block = 0; block < ranks.size(); ++block) {
      const std::optional<Block> made = one_tape_ ? later.at.find(ranks.begin(block)) : std::nullopt;
      is_new[block] = !one_tape_ || (made && made->event > moment);
      if (is_new[block]) what[block] = row_of(later, block);
    }
    std::vector<std::uint32_t> wanted;
    for (std::size_t i = 0; i < order_.size() && wanted.size() < question_.rows; ++i) {
      const ChangedRow& row = changes_.rows[i];
      if (one_tape_ ? row.made.blocks != 0 : row.bytes() > 0 || row.blocks() > 0) wanted.push_back(order_[i]);
    }
    if (wanted.empty()) return;
    ProgramSymbols symbols(later.tape());
    NewBlockHolders found =
        holders_of(later.tape(), *later.heap, *later.types, symbols,
                   {.blocks = {.is_new = is_new, .what_of = what}, .wanted = wanted, .most = question_.holders});
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto place = static_cast<std::size_t>(std::ranges::find(order_, wanted[i]) - order_.begin());
      changes_.rows[place].held_by = std::move(found.rows[i].list);
      changes_.rows[place].more_holders = found.rows[i].more;
    }
    changes_.roots = std::move(found.roots);
  }

  const ChangesQuestion& question_;
  const TapeView &before_view_, &after_view_;
  const bool one_tape_;
  SnapshotChanges changes_;
  StackPaths paths_;
  std::map<std::string, std::uint32_t> numbers_; // of rows, by what their blocks have in common
  std::vector<ChangedRow> rows_;
  std::vector<std::uint32_t> order_; // of the rows of the answer
};

} // namespace

Result<SnapshotChanges> make_snapshot_changes(const TapeView& before, const Moment& from, const TapeView& after,
                                              const Moment& to, const ChangesQuestion& question) {
  return ChangesMaker(before, after, question).make(from, to);
}

} // namespace heaptape
