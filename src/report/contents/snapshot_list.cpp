#include "report/contents/snapshot_list.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/moment/totals_at.h"

namespace heaptape {
namespace {

// The last page that it refers to has the highest number of all that were written up to it.
std::uint64_t highest_page(const MemorySnapshot& snapshot) {
  std::uint64_t highest = 0;
  for (const PageRun& run : snapshot.runs) {
    if (run.state == PageState::Stored) highest = std::max(highest, run.value + run.pages() - 1);
  }
  return highest;
}

} // namespace

std::vector<ListedSnapshot> list_snapshots(const TapeReader& tape, std::span<const Mark> marks) {
  std::vector<ListedSnapshot> list;
  std::set<std::tuple<std::uint64_t, std::uint64_t, std::string_view>> with_memory;
  for (const MemorySnapshot& snapshot : tape.snapshots()) {
    list.push_back({.name = snapshot.name, .event = snapshot.event, .time_us = snapshot.time_us, .memory = &snapshot});
    with_memory.insert({snapshot.event, snapshot.time_us, snapshot.name});
  }
  for (const Mark& mark : marks) {
    if (mark.kind == MarkKind::Snapshot && !with_memory.contains({mark.event, mark.time_us, mark.name}))
      list.push_back({.name = mark.name, .event = mark.event, .time_us = mark.time_us});
  }
  std::ranges::stable_sort(list, {}, [](const ListedSnapshot& one) { return std::pair(one.event, one.time_us); });
  return list;
}

void add_pages(const TapeReader& tape, std::vector<ListedSnapshot>& list) {
  const Snapshots& snapshots = tape.snapshots();
  const std::vector<PagesChunk>& chunks = tape.pages_chunks(); // by their pages' numbers
  std::size_t chunk = 0;
  for (ListedSnapshot& one : list) {
    if (one.memory == nullptr) continue;
    for (const PageRun& run : snapshots.pages(static_cast<std::size_t>(one.memory - &snapshots[0]))) {
      if (run.state == PageState::Stored || run.state == PageState::Fill) one.pages += run.pages();
    }
    const std::uint64_t last = highest_page(*one.memory);
    for (; chunk < chunks.size() && chunks[chunk].first <= last; ++chunk) one.tape_bytes += chunks[chunk].bytes;
  }
}

void add_live_bytes(const TapeReader& tape, std::vector<ListedSnapshot>& list, const std::function<bool()>& should_stop,
                    std::vector<Damage>& damage) {
  std::vector<ListedSnapshot*> unknown;
  std::vector<std::uint64_t> events;
  for (ListedSnapshot& one : list) {
    if (one.memory != nullptr && one.memory->live) {
      one.live_bytes = one.memory->live->bytes;
    } else {
      unknown.push_back(&one);
      events.push_back(one.event);
    }
  }
  if (unknown.empty()) return;
  const std::vector<HeapTotals> totals = totals_at(tape, events, should_stop, damage);
  for (std::size_t i = 0; i < totals.size(); ++i) unknown[i]->live_bytes = totals[i].live_bytes;
}

} // namespace heaptape
