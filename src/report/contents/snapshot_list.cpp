#include "report/contents/snapshot_list.h"

#include <algorithm>

#include "analysis/moment/totals_at.h"
#include "report/text/snapshot_names.h"

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

std::vector<ListedSnapshot> list_snapshots(const TapeReader& tape, const std::vector<Mark>& marks) {
  std::vector<ListedSnapshot> list;
  for (const NamedSnapshot& each : named_snapshots(tape, marks))
    list.push_back({each.number, std::string(each.name), each.event, each.time_us, each.memory});
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
