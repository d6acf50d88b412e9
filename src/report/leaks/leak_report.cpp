#include "report/leaks/leak_report.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/number_text.h"
#include "report/leaks/leak_holders.h"
#include "wire/loss_name.h"

namespace heaptape {
namespace {

void add(LeakTotals& sum, const LeakTotals& more) {
  sum.blocks += more.blocks;
  sum.bytes += more.bytes;
}
void take(LeakTotals& sum, const LeakTotals& less) {
  sum.blocks -= less.blocks;
  sum.bytes -= less.bytes;
}
LeakTotals& of(LeakReport& report, LeakClass leak_class) { return report.totals[static_cast<std::size_t>(leak_class)]; }

class ReportMaker {
public:
  ReportMaker(const TapeView& view, SnapshotHeap& heap, HeapCursor& at, const LeakWishes& wishes,
              const LeakSelection& selection)
      : view_(view), heap_(heap), at_(at), selection_(selection),
        own_(wishes.plain() ? std::nullopt
                            : std::optional(heap.reachability_with({.strict = wishes.strict, .stacks = wishes.stacks},
                                                                   released_later_))),
        reach_(own_ ? *own_ : heap.reachability()) {}

  LeakReport make() {
    for (const LeakClass each :
         {LeakClass::Reachable, LeakClass::Possibly, LeakClass::Definitely, LeakClass::Indirectly})
      of(report_, each) = reach_.totals(each);
    report_.only_from_stacks = reach_.only_from_stacks();
    report_.released_later = own_ ? released_later_ : heap_.released_later();
    std::vector<LossCause> causes = loss_causes(heap_.view(), reach_);
    select(causes);
    add_sites(causes);
    add_lost(causes);
    return std::move(report_);
  }
  const Reachability& reach() const { return reach_; }

private:
  void leave_out(const LossCause& cause) {
    const LeakTotals direct{1, heap_.ranks().bytes(cause.block)};
    take(of(report_, cause.definite ? LeakClass::Definitely : LeakClass::Possibly), direct);
    take(of(report_, cause.definite ? LeakClass::Indirectly : LeakClass::Possibly), cause.indirect);
  }

  // Takes the causes out that the user does not want to see, with all that is lost through them.
  void select(std::vector<LossCause>& causes) {
    std::vector<StackCost> rows; // the thread's number is that of the cause
    for (std::uint32_t i = 0; i < causes.size(); ++i) {
      if (selection_.where != nullptr && !matches(causes[i].block)) continue;
      Cost cost = Cost::of(heap_.ranks().bytes(causes[i].block));
      cost.bytes += causes[i].indirect.bytes;
      cost.blocks += causes[i].indirect.blocks;
      rows.push_back({heap_.stack_of(causes[i].block), ThreadId(i), cost});
    }
    std::ranges::stable_sort(rows, {}, [](const StackCost& row) { return row.stack.value; });
    if (selection_.filter != nullptr) selection_.filter->apply(view_.names(), rows);
    const Cost before = sum(rows);
    if (selection_.suppressions != nullptr) selection_.suppressions->apply(view_.names(), rows);
    const Cost after = sum(rows);
    report_.suppressed = {before.blocks - after.blocks, before.bytes - after.bytes};
    std::vector<bool> kept(causes.size());
    for (const StackCost& row : rows) kept[row.thread.value] = true;
    std::vector<LossCause> left;
    for (std::size_t i = 0; i < causes.size(); ++i) {
      if (kept[i])
        left.push_back(causes[i]);
      else
        leave_out(causes[i]);
    }
    causes = std::move(left);
    const bool filtered = selection_.filter != nullptr && !selection_.filter->empty();
    if (filtered || selection_.where != nullptr) select_reachable();
  }
  static Cost sum(const std::vector<StackCost>& rows) {
    Cost sum;
    for (const StackCost& row : rows) sum += row.cost;
    return sum;
  }
  bool matches(std::uint32_t block) {
    const std::optional<Block> found = at_.find(heap_.ranks().begin(block));
    return found && selection_.where->matches(
                        BlockFacts{.block = *found, .owner = at_.owner_of(*found), .now_us = at_.time_us()});
  }
  void select_reachable() {
    LeakTotals &reachable = of(report_, LeakClass::Reachable), &from_stacks = report_.only_from_stacks;
    reachable = from_stacks = {};
    for (std::uint32_t block = 0; block < heap_.ranks().size(); ++block) {
      if (reach_.class_of(block) != LeakClass::Reachable) continue;
      if (selection_.filter != nullptr && !selection_.filter->accepts(view_.names(), heap_.stack_of(block))) continue;
      if (selection_.where != nullptr && !matches(block)) continue;
      add(reachable, {1, heap_.ranks().bytes(block)});
      if (reach_.only_from_stacks(block)) add(from_stacks, {1, heap_.ranks().bytes(block)});
    }
  }

  void add_sites(const std::vector<LossCause>& causes) {
    std::map<std::tuple<bool, std::uint32_t, std::uint32_t, WeakReference, std::uint32_t>, LeakSite> sites;
    for (const LossCause& cause : causes) {
      const StackId stack = heap_.stack_of(cause.block);
      LeakSite& site = sites[{!cause.definite, stack.value, cause.cycle, cause.reference, cause.offset}];
      if (site.direct.blocks == 0) {
        site = {.definite = cause.definite,
                .stack = stack,
                .example = heap_.ranks().begin(cause.block),
                .cycle = cause.cycle,
                .reference = cause.reference,
                .offset = cause.offset};
      }
      add(site.direct, {1, heap_.ranks().bytes(cause.block)});
      add(site.indirect, cause.indirect);
    }
    for (auto& [key, site] : sites) report_.sites.push_back(site);
    std::ranges::stable_sort(report_.sites, std::greater(), [](const LeakSite& site) {
      return std::tuple(site.definite, site.direct.bytes + site.indirect.bytes, site.direct.blocks);
    });
  }

  void add_lost(const std::vector<LossCause>& causes) {
    std::unordered_map<std::uint32_t, Cost> by_stack;
    std::vector<bool> wanted(heap_.ranks().size());
    for (const LossCause& cause : causes)
      if (cause.definite) wanted[cause.block] = true;
    for (std::uint32_t block = 0; block < wanted.size(); ++block) {
      const LeakClass each = reach_.class_of(block);
      if (each != LeakClass::Definitely && each != LeakClass::Indirectly) continue;
      if (wanted[reach_.leader_of(block)])
        by_stack[heap_.stack_of(block).value] += Cost::of(heap_.ranks().bytes(block));
    }
    for (const auto& [stack, cost] : by_stack) report_.lost.push_back({StackId(stack), {}, cost});
    std::ranges::sort(report_.lost, {}, [](const StackCost& row) { return row.stack.value; });
  }

  const TapeView& view_;
  SnapshotHeap& heap_;
  HeapCursor& at_;
  LeakSelection selection_;
  LeakTotals released_later_{}; // of own_
  std::optional<Reachability> own_;
  const Reachability& reach_;
  LeakReport report_;
};

// What was not recorded may have held, or been, any of these blocks.
std::vector<std::string> doubts_of(const TapeView& view, SnapshotHeap& heap) {
  std::vector<std::string> doubts;
  const auto bound = [&](std::string what) {
    doubts.push_back(std::move(what) + ": what only they lead to counts as lost");
  };
  if (view.tape().summary()) {
    std::uint64_t lost = 0;
    for (const auto& [name, count] : view.tape().summary()->losses) {
      if (name == wire::kPausedName)
        bound(count_of(count, "block") + " made while the recording was paused " + (count == 1 ? "is" : "are") +
              " not known");
      else if (name == wire::kLossUnknown || name == wire::loss_name(wire::Loss::RingFull))
        lost += std::max<std::uint64_t>(count, 1);
    }
    if (lost != 0) bound(count_of(lost, "event") + " lost, and with them perhaps blocks");
  }
  if (view.damage().missing_events != 0) bound("a part of the tape cannot be read, and with it perhaps blocks");
  if (heap.ranks().left_out() != 0)
    bound(count_of(heap.ranks().left_out(), "block") + " lie outside of usual addresses");
  std::size_t running = 0;
  for (const ThreadState& thread : heap.memory().facts().threads) running += !thread.stopped;
  if (running != 0) doubts.push_back(count_of(running, "thread") + " could not be stopped; all of its stack counts");
  return doubts;
}

} // namespace

std::string_view leak_class_name(LeakClass leak_class) {
  switch (leak_class) {
  case LeakClass::Reachable: return "still reachable";
  case LeakClass::Possibly: return "possibly lost";
  case LeakClass::Definitely: return "definitely lost";
  case LeakClass::Indirectly: return "indirectly lost";
  }
  return "";
}

std::optional<std::size_t> snapshot_at_end(const TapeReader& tape) {
  const Snapshots& snapshots = tape.snapshots();
  if (snapshots.empty()) return std::nullopt;
  const MemorySnapshot& last = snapshots[snapshots.size() - 1];
  // Between the end of main() and that of the process a program cleans up, and may do that thoroughly.
  const bool by_itself = last.name == "exit" || last.name == "crash";
  constexpr std::uint64_t kFew = 1000, kShare = 100;
  const std::uint64_t behind = tape.event_count() - std::min(tape.event_count(), last.event);
  if (!by_itself && behind > std::max(kFew, tape.event_count() / kShare)) return std::nullopt;
  return snapshots.size() - 1;
}

std::string how_to_get_leaks(const TapeView& view) {
  const Snapshots& snapshots = view.tape().snapshots();
  if (snapshots.empty())
    return "the tape has no memory of the end, so nobody can tell what was lost; 'heaptape record --leaks' keeps it";
  const MemorySnapshot& last = snapshots[snapshots.size() - 1];
  return "the tape has no memory of the end; 'heaptape leaks " + printable(view.path()) + "@" +
         std::to_string(last.number) + "' tells what was lost at " + seconds_text(last.time_us) + " s";
}

Result<std::size_t> chosen_snapshot(const TapeView& view, const std::string& text) {
  const Result<Moment> moment = view.moment(text);
  if (!moment) return moment.error();
  return find_snapshot(view.tape(), moment.value().event, moment.value().snapshot);
}

LeakReport make_leak_report(const TapeView& view, SnapshotHeap& heap, HeapCursor& at, ProgramSymbols& symbols,
                            const LeakWishes& wishes, const LeakSelection& selection) {
  ReportMaker maker(view, heap, at, wishes, selection);
  LeakReport report = maker.make();
  const MemorySnapshot& facts = heap.memory().facts();
  report.snapshot = facts.number;
  report.event = facts.event;
  report.time_us = facts.time_us;
  report.name = facts.name;
  report.strict = wishes.strict;
  report.stacks = wishes.stacks;
  report.doubts = doubts_of(view, heap);
  if (wishes.holders || report.only_from_stacks.blocks != 0) {
    LeakHolders holders = leak_holders(heap, maker.reach(), symbols);
    report.from_stacks = std::move(holders.from_stacks);
    if (wishes.holders) report.holders = std::move(holders.all);
  }
  return report;
}

Result<LeakReport> make_leak_report(const TapeView& view, std::size_t snapshot, const LeakWishes& wishes,
                                    const LeakSelection& selection) {
  SnapshotMemory memory(view.tape(), snapshot, {});
  HeapCursor at(view.tape(), view.index());
  at.seek_event(memory.facts().event);
  const Result<std::unique_ptr<SnapshotHeap>> heap =
      SnapshotHeap::make(view.tape(), memory, at, {.form = wishes.form, .all_words = wishes.strict});
  if (!heap) return heap.error();
  ProgramSymbols symbols(view.tape());
  return make_leak_report(view, *heap.value(), at, symbols, wishes, selection);
}

} // namespace heaptape
