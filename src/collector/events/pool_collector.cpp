#include "collector/events/pool_collector.h"

#include <utility>

namespace heaptape {

namespace {

std::uint64_t pool_of(const RingItem& item) { return item.size() >> 32; }

} // namespace

PoolCollector::Known& PoolCollector::known(std::uint64_t wire_number) {
  const auto [place, is_new] = numbers_.try_emplace(wire_number, static_cast<std::uint32_t>(pools_.size() + 1));
  if (is_new) {
    pools_.emplace_back().pool.number = place->second;
    if (wire_number == wire::kMostPools) pools_.back().pool.name = "(further pools)";
  }
  return pools_[place->second - 1];
}

void PoolCollector::add_name(const RingItem& item, std::string name) {
  const auto kind = static_cast<wire::PoolNameKind>(pool_of(item));
  if (kind == wire::PoolNameKind::Hooked) {
    watched_.insert(std::move(name));
    return;
  }
  const std::uint64_t number = item.size() & 0xffff'ffff;
  if (number == 0 || number > wire::kMostPools) return;
  Known& pool = known(number);
  pool.pool.name = std::move(name);
  pool.pool.kind = kind == wire::PoolNameKind::Function ? PoolKind::Function : PoolKind::Given;
  pool.written = false;
}

void PoolCollector::begin_large(const RingItem& item) { large_[item.slot] = {item.address(), item.size()}; }

PoolCollector::Known* PoolCollector::pool_with(std::uint64_t address) {
  std::uint64_t newest = 0;
  Known* pool = nullptr;
  for (Known& known : pools_) {
    if (known.pool.kind != PoolKind::Function) continue;
    if (const auto found = known.live.find(address); found != known.live.end() && found->second.event > newest) {
      newest = found->second.event;
      pool = &known;
    }
  }
  return pool;
}

bool PoolCollector::is_handed_on(const RingItem& item, const Event& event, const Known& into) {
  if (into.pool.kind != PoolKind::Function) return false;
  const Known* pool = pool_with(event.address);
  if (pool == nullptr) return false;
  const Block& block = pool->live.at(event.address);
  return block.slot == item.slot && stacks_.is_called_from(block.stack, event.stack);
}

PoolCollector::Taken PoolCollector::take_in(const RingItem& item, Event& event) {
  if (pool_of(item) > wire::kMostPools) return {Taken::As::Nonsense};
  return item.kind() == EventKind::PoolAlloc ? allocate(item, event) : release(item, event);
}

PoolCollector::Taken PoolCollector::allocate(const RingItem& item, Event& event) {
  if (pool_of(item) == 0 || item.address() == 0) return {Taken::As::Nonsense};
  event.size = item.size() & 0xffff'ffff;
  // A signal handler's blocks may come between the two halves; the address tells.
  if (const auto large = large_.find(item.slot); large != large_.end() && large->second.address == item.address()) {
    event.size = large->second.size;
    large_.erase(large);
  }
  Known& pool = known(pool_of(item));
  if (is_handed_on(item, event, pool)) return {Taken::As::Repeated};
  event.old_address = pool.pool.number;
  pool.live.insert_or_assign(event.address, Block{event.number, event.stack, item.slot});
  return {};
}

PoolCollector::Taken PoolCollector::release(const RingItem& item, Event& event) {
  const std::uint64_t wire_number = pool_of(item);
  if (wire_number == 0 && item.address() == 0) return {Taken::As::Nonsense};
  Known* pool = wire_number != 0 ? &known(wire_number) : pool_with(item.address());
  if (wire_number == 0) {
    Freed& last = last_freed_[item.slot];
    // One pool function has freed it and has called another to do so.
    if (pool == nullptr && last.address == event.address && stacks_.is_called_from(event.stack, last.stack))
      return {Taken::As::Repeated};
    last = {event.address, event.stack};
  }
  if (pool == nullptr) return {};
  event.old_address = pool->pool.number;
  if (event.address == 0) {
    pool->live.clear();
    return {};
  }
  const auto found = pool->live.find(event.address);
  if (found == pool->live.end()) return {};
  const std::uint64_t allocated_at = found->second.event;
  pool->live.erase(found);
  return {Taken::As::Event, allocated_at};
}

std::vector<Pool> PoolCollector::take() {
  std::vector<Pool> fresh;
  for (Known& known : pools_) {
    if (std::exchange(known.written, true)) continue;
    fresh.push_back(known.pool);
  }
  return fresh;
}

} // namespace heaptape
