#include "analysis/heap/pool_state.h"

#include <algorithm>

#include "tape/parallel_events.h"

namespace heaptape {

void PoolState::end(OnePool& pool, std::unordered_map<std::uint64_t, Live>::iterator block) {
  pool.figures.live -= Cost::of(block->second.size);
  pool.blocks.erase(block);
}

void PoolState::make(OnePool& pool, const Event& event) {
  PoolFigures& figures = pool.figures;
  const Owner owner{event.stack, event.thread};
  if (const auto before = pool.blocks.find(event.address); before != pool.blocks.end()) {
    end(pool, before);
    ++figures.replaced;
  }
  pool.blocks.insert({event.address, {event.size, event.number, event.time_us, owner}});
  figures.allocated += Cost::of(event.size);
  figures.live += Cost::of(event.size);
  pool.allocated[owner] += Cost::of(event.size);
  if (figures.live.bytes <= figures.peak_bytes) return;
  figures.peak_bytes = figures.live.bytes;
  figures.peak_event = event.number;
  figures.peak_us = event.time_us;
}

void PoolState::apply(const Event& event) {
  if (!is_pool(event.kind)) return;
  OnePool& pool = pools_[pool_of(event)];
  pool.figures.pool = pool_of(event);
  if (event.kind == EventKind::PoolAlloc) {
    make(pool, event);
  } else if (event.address == 0) {
    ++pool.figures.resets;
    pool.figures.live = {};
    pool.blocks.clear();
  } else if (const auto block = pool.blocks.find(event.address); block != pool.blocks.end()) {
    end(pool, block);
  } else {
    ++pool.figures.unknown_frees;
  }
}

std::vector<PoolFigures> PoolState::figures() const {
  std::vector<PoolFigures> all;
  for (const auto& [number, pool] : pools_) all.push_back(pool.figures);
  return all;
}

std::vector<PoolOwnerCost> PoolState::owners(std::uint64_t pool) const {
  const auto found = pools_.find(pool);
  if (found == pools_.end()) return {};
  std::map<Owner, PoolOwnerCost> rows;
  for (const auto& [owner, cost] : found->second.allocated) rows[owner] = {owner, cost, {}};
  for (const auto& [address, block] : found->second.blocks) rows[block.owner].live += Cost::of(block.size);
  std::vector<PoolOwnerCost> list;
  for (const auto& [owner, row] : rows) list.push_back(row);
  return list;
}

std::vector<PoolBlock> PoolState::find_around(std::uint64_t address) const {
  std::vector<PoolBlock> found;
  for (const auto& [number, pool] : pools_) {
    for (const auto& [begin, block] : pool.blocks) {
      // Even an empty block has its address.
      if (address < begin || address - begin >= std::max<std::uint64_t>(block.size, 1)) continue;
      found.push_back({number, begin, block.size, block.event, block.time_us, block.owner});
    }
  }
  return found;
}

PoolsFound pools_after(const TapeReader& tape, const PoolPass& options) {
  PoolsFound found;
  EventsPass pass = parallel_events<std::vector<Event>>(
      tape, {.last = options.until, .stop = options.should_stop},
      [](std::vector<Event>& part, std::span<const Event> events) {
        for (const Event& event : events) {
          if (is_pool(event.kind)) [[unlikely]]
            part.push_back(event);
        }
      },
      [&](const std::vector<Event>& part) {
        for (const Event& event : part) found.state.apply(event);
      });
  found.damage = std::move(pass.damage);
  return found;
}

bool has_pools(const HeapTotals& totals) {
  const auto count = [&](EventKind kind) { return totals.per_kind[static_cast<std::size_t>(kind)]; };
  return count(EventKind::PoolAlloc) + count(EventKind::PoolFree) != 0;
}

} // namespace heaptape
