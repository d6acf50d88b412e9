#include "collector/pool_collector.h"

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
  if (kind == wire::PoolNameKind::Watched) {
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

std::uint32_t PoolCollector::pool_with(std::uint64_t address) const {
  std::uint64_t newest = 0;
  std::uint32_t number = 0;
  for (const Known& known : pools_) {
    if (known.pool.kind != PoolKind::Function) continue;
    // Of functions that call each other the outer one made its block last, and frees it first.
    if (const auto found = known.live.find(address); found != known.live.end() && found->second > newest) {
      newest = found->second;
      number = known.pool.number;
    }
  }
  return number;
}

std::optional<std::uint64_t> PoolCollector::take_in(const RingItem& item, Event& event) {
  const std::uint64_t wire_number = pool_of(item);
  if (wire_number > wire::kMostPools) return std::nullopt;
  if (item.kind() == EventKind::PoolAlloc) {
    if (wire_number == 0 || item.address() == 0) return std::nullopt;
    event.size = item.size() & 0xffff'ffff;
    // A signal handler's blocks may come between the two halves; the address tells.
    if (const auto large = large_.find(item.slot); large != large_.end() && large->second.address == item.address()) {
      event.size = large->second.size;
      large_.erase(large);
    }
    Known& pool = known(wire_number);
    event.old_address = pool.pool.number;
    pool.live.insert_or_assign(event.address, event.number);
    return 0;
  }
  if (wire_number == 0 && item.address() == 0) return std::nullopt;
  const std::uint32_t number = wire_number != 0 ? known(wire_number).pool.number : pool_with(item.address());
  event.old_address = number;
  if (number == 0) return 0;
  Known& pool = pools_[number - 1];
  if (event.address == 0) {
    pool.live.clear();
    return 0;
  }
  const auto found = pool.live.find(event.address);
  if (found == pool.live.end()) return 0;
  const std::uint64_t allocated_at = found->second;
  pool.live.erase(found);
  return allocated_at;
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
