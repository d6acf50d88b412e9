#include "analysis/space/used_before.h"

#include <algorithm>
#include <numeric>

#include "analysis/index/keyframe.h"

namespace heaptape {
namespace {

// Marks cells, each once: large blocks that come again and again cost nothing the second time.
class Marks {
public:
  explicit Marks(std::span<const CellGrid> grids) : grids_(grids) {
    for (const CellGrid& grid : grids) {
      unmarked_.emplace_back(grid.cells + 1);
      std::iota(unmarked_.back().begin(), unmarked_.back().end(), std::size_t{0});
    }
  }

  void add(std::uint64_t address, std::uint64_t size) {
    const std::uint64_t end = address + std::max<std::uint64_t>(size, 1);
    if (end < address) return;
    for (std::size_t grid = find(address); grid < grids_.size() && grids_[grid].begin < end; ++grid)
      mark(grid, std::max(address, grids_[grid].begin), std::min(end, grids_[grid].end()));
  }

  std::vector<std::vector<std::uint8_t>> take() {
    std::vector<std::vector<std::uint8_t>> cells;
    for (const auto& next : unmarked_) {
      std::vector<std::uint8_t>& marked = cells.emplace_back(next.size() - 1);
      for (std::size_t i = 0; i < marked.size(); ++i) marked[i] = next[i] != i;
    }
    return cells;
  }

private:
  // The first grid that ends behind the address.
  std::size_t find(std::uint64_t address) const {
    const auto found =
        std::partition_point(grids_.begin(), grids_.end(), [&](const CellGrid& grid) { return grid.end() <= address; });
    return static_cast<std::size_t>(found - grids_.begin());
  }

  void mark(std::size_t number, std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    std::vector<std::size_t>& next = unmarked_[number];
    const std::size_t last = grids_[number].cell_of(end - 1);
    for (std::size_t at = find_unmarked(next, grids_[number].cell_of(begin)); at <= last;
         at = find_unmarked(next, at + 1))
      next[at] = at + 1;
  }

  // Each cell points to itself, or once marked to one behind it; paths get shorter as they are walked.
  static std::size_t find_unmarked(std::vector<std::size_t>& next, std::size_t at) {
    while (next[at] != at) {
      next[at] = next[next[at]];
      at = next[at];
    }
    return at;
  }

  std::span<const CellGrid> grids_;
  std::vector<std::vector<std::size_t>> unmarked_; // per grid; one more than it has cells
};

bool makes_block(const Event& event) {
  return event.address != 0 && (is_allocation(event.kind) || is_reallocation(event.kind));
}

} // namespace

UsedBefore used_before(const TapeReader& tape, const Index& index, std::span<const CellGrid> grids,
                       const AskUsedBefore& ask) {
  Marks marks(grids);
  UsedBefore used;
  const auto stopped = [&] {
    if (!ask.should_stop || !ask.should_stop()) return false;
    used.exact = false;
    return true;
  };
  if (ask.until <= ask.most_events) {
    EventCursor events = tape.events();
    for (auto run = events.next_run_until(ask.until); !run.empty(); run = events.next_run_until(ask.until)) {
      if (stopped()) break;
      for (const Event& event : run)
        if (makes_block(event)) marks.add(event.address, event.size);
    }
  } else {
    used.exact = false;
    const auto after = std::partition_point(index.keyframes.begin(), index.keyframes.end(),
                                            [&](const Keyframe& keyframe) { return keyframe.event <= ask.until; });
    const auto there = static_cast<std::size_t>(after - index.keyframes.begin());
    const std::size_t wanted = std::min(there, ask.most_keyframes);
    for (std::size_t i = 0; i < wanted && !stopped(); ++i) {
      HeapState state;
      // The last one before the moment is always among them.
      if (!load_keyframe(tape, index.keyframes[(i + 1) * there / wanted - 1], state)) continue;
      state.blocks().for_each([&](const Block& block) { marks.add(block.address, block.size); });
    }
  }
  used.cells = marks.take();
  return used;
}

} // namespace heaptape
