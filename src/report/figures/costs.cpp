#include "report/figures/costs.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

#include "analysis/index/log_buckets.h"
#include "analysis/moment/block_lives.h"
#include "analysis/moment/heap_cursor.h"
#include "analysis/moment/moments.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();

// Adds up blocks by stack and thread, and by size where that is wanted.
class BlockSums {
public:
  explicit BlockSums(Sizes sizes = Sizes::Apart) : sizes_(sizes) {}
  void add(Owner owner, std::uint64_t size) {
    sums_[{owner.stack, owner.thread, sizes_ == Sizes::Apart ? log_bucket(size) : 0}] += Cost::of(size);
  }
  std::vector<StackCost> list() const {
    std::vector<StackCost> all;
    all.reserve(sums_.size());
    for (const auto& [key, cost] : sums_) {
      const auto& [stack, thread, bucket] = key;
      all.push_back({stack, thread, cost, static_cast<std::uint32_t>(bucket)});
    }
    return all;
  }

private:
  Sizes sizes_;
  std::map<std::tuple<StackId, ThreadId, std::size_t>, Cost> sums_;
};

bool makes_block(const Event& event) {
  return event.address != 0 && (is_allocation(event.kind) || is_reallocation(event.kind));
}

std::vector<StackCost> live_after(const TapeView& view, std::uint64_t event, std::uint64_t made_after = 0) {
  BlockSums sums;
  HeapCursor heap(view.tape(), view.index());
  heap.seek_event(event);
  heap.state().blocks().for_each([&](const Block& block) {
    if (block.event > made_after) sums.add(heap.owner_of(block), block.size);
  });
  return sums.list();
}

std::vector<StackCost> made_between(const TapeView& view, std::uint64_t after, std::uint64_t until) {
  BlockSums sums;
  EventCursor cursor = view.tape().events(after + 1);
  while (const Event* event = cursor.next()) {
    if (event->number > until) break;
    if (makes_block(*event)) sums.add({event->stack, event->thread}, event->size);
  }
  return sums.list();
}

// As Figures::temporary counts them, with their sizes.
std::vector<StackCost> temporary_with_sizes(const TapeView& view) {
  struct Made {
    std::uint64_t address = 0; // 0: the thread's last event made no block
    std::uint64_t size = 0;
    StackId stack{};
  };
  BlockSums sums;
  std::unordered_map<ThreadId, Made> last;
  EventCursor cursor = view.tape().events();
  while (const Event* event = cursor.next()) {
    if (is_pool(event->kind)) continue;
    Made& made = last[event->thread];
    const bool replaces = is_reallocation(event->kind) && !event->old_released;
    const std::uint64_t ended = is_release(event->kind) ? event->address : replaces ? event->old_address : 0;
    if (ended != 0 && ended == made.address) sums.add({made.stack, event->thread}, made.size);
    made = makes_block(*event) ? Made{event->address, event->size, event->stack} : Made{};
  }
  return sums.list();
}

std::vector<StackCost> plain_costs_of(const TapeView& view, CostKind kind, Sizes sizes) {
  if (sizes == Sizes::Apart) {
    switch (kind) {
    case CostKind::Leaks: return live_after(view, kEnd);
    case CostKind::Peak: return live_after(view, view.findings().totals.peak_event);
    case CostKind::Allocations: return made_between(view, 0, kEnd);
    case CostKind::Temporary: return temporary_with_sizes(view);
    }
  }
  std::vector<StackCost> costs;
  for (const OwnerFigures& row : view.findings().by_owner) {
    const Cost cost = kind == CostKind::Leaks         ? row.live()
                      : kind == CostKind::Peak        ? row.at_peak
                      : kind == CostKind::Allocations ? row.allocated
                                                      : row.temporary;
    if (cost != Cost{}) costs.push_back({row.owner.stack, row.owner.thread, cost});
  }
  return costs;
}

std::vector<StackCost> plain_live_costs(const TapeView& view, const Moment& moment, Sizes sizes) {
  if (sizes == Sizes::Apart) return live_after(view, moment.event);
  HeapCursor heap(view.tape(), view.index());
  heap.seek_event(moment.event);
  std::vector<StackCost> costs;
  for (const OwnerCost& row : live_by_owner(heap.state()))
    costs.push_back({row.owner.stack, row.owner.thread, row.cost});
  return costs;
}

std::vector<StackCost> plain_window_costs(const TapeView& view, const Moment& from, const Moment& to, WindowPart part,
                                          Sizes sizes) {
  if (sizes == Sizes::Together) {
    std::vector<StackCost> costs;
    for (const WindowFigures& row : window_figures(view.tape(), view.index(), {from.event, to.event})) {
      const Cost cost = part == WindowPart::All ? row.allocated : row.live;
      if (cost != Cost{}) costs.push_back({row.owner.stack, row.owner.thread, cost});
    }
    return costs;
  }
  if (part == WindowPart::All) return made_between(view, from.event, to.event);
  return live_after(view, to.event, from.event);
}

// A block as it was at a moment.
BlockFacts facts_at(const BlockLife& life, const Moment& moment) {
  BlockFacts facts{.block = life.block, .owner = life.owner, .kind = life.kind, .now_us = moment.time_us};
  if (!life.freed || life.freed_event > moment.event) return facts;
  facts.freed = true;
  facts.freed_event = life.freed_event;
  facts.freed_us = life.freed_us;
  facts.freed_thread = life.freed_thread;
  facts.freed_stack = life.freed_stack;
  return facts;
}

bool asks_each_block(const Filter* filter) { return filter != nullptr && !filter->needs_owner_only(); }

std::vector<StackCost> of_chosen_owners(std::vector<StackCost> costs, Filter* filter) {
  if (filter == nullptr || filter->matches_everything()) return costs;
  std::erase_if(costs, [&](const StackCost& cost) {
    return !filter->matches(BlockFacts{.owner = {cost.stack, cost.thread}});
  });
  return costs;
}

// Of the blocks made after one moment and up to another: those that were then live, all, or the temporary ones.
enum class Chosen : std::uint8_t { Live, All, Temporary };
std::vector<StackCost> chosen_costs(const TapeView& view, Filter& filter, const Moment& from, const Moment& to,
                                    Chosen chosen, Sizes sizes) {
  const Filter::Bounds& bounds = filter.bounds();
  BlockLives lives(view.tape(), {.kinds = filter.needs_kind(),
                                 .first_made = std::max(from.event + 1, bounds.first_event),
                                 .last_made = std::min(to.event, bounds.last_event),
                                 .until = to.event});
  BlockSums sums(sizes);
  while (const BlockLife* life = lives.next()) {
    if (chosen == Chosen::Live && life->freed) continue;
    if (chosen == Chosen::Temporary && !life->temporary) continue;
    if (filter.matches(facts_at(*life, to))) sums.add(life->owner, life->block.size);
  }
  return sums.list();
}

} // namespace

const char* cost_kind_name(CostKind kind) {
  switch (kind) {
  case CostKind::Leaks: return "leaks";
  case CostKind::Peak: return "peak";
  case CostKind::Allocations: return "allocations";
  case CostKind::Temporary: return "temporary";
  }
  return "?";
}

Measure measure_of(CostKind kind) { return kind == CostKind::Temporary ? Measure::Blocks : Measure::Bytes; }

std::vector<StackCost> costs_of(const TapeView& view, CostKind kind, Sizes sizes, Filter* filter) {
  if (asks_each_block(filter)) {
    const HeapTotals& totals = view.findings().totals;
    const Moment end{kEnd, view.findings().end_us}, peak{totals.peak_event, totals.peak_us};
    switch (kind) {
    case CostKind::Leaks: return chosen_costs(view, *filter, {}, end, Chosen::Live, sizes);
    case CostKind::Peak: return chosen_costs(view, *filter, {}, peak, Chosen::Live, sizes);
    case CostKind::Allocations: return chosen_costs(view, *filter, {}, end, Chosen::All, sizes);
    case CostKind::Temporary: return chosen_costs(view, *filter, {}, end, Chosen::Temporary, sizes);
    }
  }
  return of_chosen_owners(plain_costs_of(view, kind, sizes), filter);
}

std::vector<StackCost> live_costs(const TapeView& view, const Moment& moment, Sizes sizes, Filter* filter) {
  if (asks_each_block(filter)) return chosen_costs(view, *filter, {}, moment, Chosen::Live, sizes);
  return of_chosen_owners(plain_live_costs(view, moment, sizes), filter);
}

std::vector<StackCost> window_costs(const TapeView& view, const Moment& from, const Moment& to, WindowPart part,
                                    Sizes sizes, Filter* filter) {
  if (asks_each_block(filter))
    return chosen_costs(view, *filter, from, to, part == WindowPart::All ? Chosen::All : Chosen::Live, sizes);
  return of_chosen_owners(plain_window_costs(view, from, to, part, sizes), filter);
}

std::vector<StackCost> change_of(const std::vector<StackCost>& before, const std::vector<StackCost>& after) {
  std::map<std::tuple<StackId, ThreadId, std::uint32_t>, Cost> changes;
  const auto change = [&](const StackCost& row) -> Cost& { return changes[{row.stack, row.thread, row.size_bucket}]; };
  for (const StackCost& row : after) change(row) += row.cost;
  for (const StackCost& row : before) change(row) -= row.cost;
  std::vector<StackCost> list;
  for (const auto& [key, cost] : changes) {
    const auto& [stack, thread, bucket] = key;
    if (cost != Cost{}) list.push_back({stack, thread, cost, bucket});
  }
  return list;
}

std::vector<FilteredFigures> filtered_figures(const TapeView& view, Filter& filter) {
  std::map<StackId, FilteredFigures> sums;
  if (filter.needs_owner_only()) {
    for (const OwnerFigures& row : view.findings().by_owner) {
      if (!filter.matches(BlockFacts{.owner = row.owner})) continue;
      FilteredFigures& sum = sums[row.owner.stack];
      sum.allocated += row.allocated;
      sum.live += row.live();
      sum.at_peak += row.at_peak;
      sum.temporary += row.temporary;
    }
  } else {
    const Moment end{kEnd, view.findings().end_us};
    const Moment peak{view.findings().totals.peak_event, view.findings().totals.peak_us};
    BlockLives lives(view.tape(), {.kinds = filter.needs_kind()});
    while (const BlockLife* life = lives.next()) {
      const Cost cost = Cost::of(life->block.size);
      if (life->block.event <= peak.event && !(life->freed && life->freed_event <= peak.event) &&
          filter.matches(facts_at(*life, peak)))
        sums[life->owner.stack].at_peak += cost;
      if (!filter.matches(facts_at(*life, end))) continue;
      FilteredFigures& sum = sums[life->owner.stack];
      sum.allocated += cost;
      if (!life->freed) sum.live += cost;
      if (life->temporary) sum.temporary += cost;
    }
  }
  std::vector<FilteredFigures> list;
  for (auto& [stack, sum] : sums) {
    sum.stack = stack;
    list.push_back(sum);
  }
  return list;
}

std::vector<StackCost> growth_costs(const TapeView& view) {
  constexpr std::size_t kFirst = kGrowthMoments / 4 - 1, kLast = kGrowthMoments - 2;
  std::vector<StackCost> costs;
  for (const StackGrowth& row : view.findings().growth.stacks) {
    const Cost before = row.live[kFirst], after = row.live[kLast];
    if (after.bytes <= before.bytes || after.blocks < before.blocks) continue;
    const std::uint64_t grown = after.bytes - before.bytes;
    std::size_t rises = 0;
    bool falls = false;
    for (std::size_t i = kFirst; i < kLast; ++i) {
      const std::uint64_t now = row.live[i].bytes, next = row.live[i + 1].bytes;
      rises += next > now;
      falls |= next < now && now - next > grown / 10;
    }
    if (rises * 3 >= (kLast - kFirst) * 2 && !falls) costs.push_back({row.stack, {}, after - before});
  }
  return costs;
}

Cost sum_of(const std::vector<StackCost>& costs) {
  Cost sum;
  for (const StackCost& cost : costs) sum += cost.cost;
  return sum;
}

} // namespace heaptape
