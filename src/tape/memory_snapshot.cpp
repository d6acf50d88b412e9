#include "tape/memory_snapshot.h"

#include <algorithm>
#include <utility>

namespace heaptape {

namespace {

// The part of a run that begins at `begin`.
PageRun part_of(const PageRun& run, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t passed = (begin - run.begin) / kPageBytes;
  return {begin, end, run.state, run.state == PageState::Stored ? run.value + passed : run.value};
}

bool continues(const PageRun& run, const PageRun& next) {
  if (run.end != next.begin || run.state != next.state) return false;
  return next.value == (run.state == PageState::Stored ? run.value + run.pages() : run.value);
}

// Goes over two tables at once: calls visit(a, b) for each stretch in which neither changes, with the parts of the runs that cover it
// (state None where there is none).
template <class Visit>
void side_by_side(std::span<const PageRun> left, std::span<const PageRun> right, Visit&& visit) {
  std::size_t l = 0, r = 0;
  std::uint64_t at = 0;
  while (l < left.size() || r < right.size()) {
    const bool in_left = l < left.size() && left[l].begin <= at;
    const bool in_right = r < right.size() && right[r].begin <= at;
    std::uint64_t until = ~std::uint64_t{0};
    if (l < left.size()) until = std::min(until, in_left ? left[l].end : left[l].begin);
    if (r < right.size()) until = std::min(until, in_right ? right[r].end : right[r].begin);
    if (in_left || in_right) {
      const PageRun nothing{at, until, PageState::None, 0};
      visit(in_left ? part_of(left[l], at, until) : nothing, in_right ? part_of(right[r], at, until) : nothing,
            in_right);
    }
    at = until;
    if (l < left.size() && left[l].end <= at) ++l;
    if (r < right.size() && right[r].end <= at) ++r;
  }
}

} // namespace

std::string_view snapshot_method_name(SnapshotMethod method) {
  switch (method) {
  case SnapshotMethod::Live: return "live";
  case SnapshotMethod::Twin: return "twin";
  case SnapshotMethod::Stop: return "stop";
  case SnapshotMethod::Unknown: break;
  }
  return "unknown";
}

void append_run(std::vector<PageRun>& runs, const PageRun& next) {
  if (!runs.empty() && continues(runs.back(), next))
    runs.back().end = next.end;
  else
    runs.push_back(next);
}

std::vector<PageRun> page_changes(std::span<const PageRun> before, std::span<const PageRun> now) {
  std::vector<PageRun> changes;
  side_by_side(before, now, [&](const PageRun& old_part, const PageRun& new_part, bool) {
    if (old_part != new_part) append_run(changes, new_part);
  });
  return changes;
}

std::vector<PageRun> apply_page_changes(std::span<const PageRun> before, std::span<const PageRun> changes) {
  std::vector<PageRun> now;
  side_by_side(before, changes, [&](const PageRun& old_part, const PageRun& change, bool changed) {
    const PageRun& part = changed ? change : old_part;
    if (part.state != PageState::None) append_run(now, part);
  });
  return now;
}

std::vector<PageRun> Snapshots::pages(std::size_t index) const {
  std::size_t first = index;
  while (!list_[first].whole) --first;                                   // add() sees to it that there is one
  std::vector<PageRun> runs = apply_page_changes({}, list_[first].runs); // without what is None
  for (std::size_t i = first + 1; i <= index; ++i) runs = apply_page_changes(runs, list_[i].runs);
  return runs;
}

bool Snapshots::add(MemorySnapshot snapshot) {
  const bool in_order =
      list_.empty() || (snapshot.number > list_.back().number && snapshot.event >= list_.back().event);
  const bool has_base = snapshot.whole || (!list_.empty() && list_.back().number + 1 == snapshot.number);
  if (!in_order || !has_base || runs_ + snapshot.runs.size() > kMostRuns) return false;
  runs_ += snapshot.runs.size();
  list_.push_back(std::move(snapshot));
  return true;
}

} // namespace heaptape
