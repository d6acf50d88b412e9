// Erase + insert pairs at a steady number of live blocks, as a program with that many live blocks makes them: the live map
// with and without prefetching, against tsl::robin_map. Addresses are 16-byte aligned and come back after a while.
#include <benchmark/benchmark.h>
#include <tsl/robin_map.h>

#include <algorithm>
#include <random>
#include <vector>

#include "analysis/heap/live_map.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kHeap = 0x7f00'0000'0000;
constexpr std::size_t kAhead = 12;

// Blocks of mixed sizes side by side, in the order in which they will be released and made again.
std::vector<std::uint64_t> shuffled_addresses(std::size_t count) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> addresses(count);
  std::uint64_t at = kHeap;
  for (std::uint64_t& address : addresses) {
    address = at;
    at += 16 * (1 + random() % 12);
  }
  std::shuffle(addresses.begin(), addresses.end(), random);
  return addresses;
}

template <bool kPrefetch>
void live_map_pairs(benchmark::State& state) {
  const auto addresses = shuffled_addresses(static_cast<std::size_t>(state.range(0)));
  LiveMap map;
  std::uint64_t number = 0;
  for (std::uint64_t address : addresses) map.insert(address, {32, ++number});
  std::size_t at = 0;
  LiveBlock block;
  for (auto step : state) {
    (void)step;
    if (kPrefetch) map.prefetch(addresses[at + kAhead < addresses.size() ? at + kAhead : 0]);
    map.take(addresses[at], block);
    map.insert(addresses[at], {block.size, ++number});
    if (++at == addresses.size()) at = 0;
  }
  state.SetItemsProcessed(state.iterations() * 2);
  state.counters["bytes/block"] = static_cast<double>(map.memory_bytes()) / static_cast<double>(map.size());
}
BENCHMARK(live_map_pairs<false>)->Arg(1'000)->Arg(100'000)->Arg(1'000'000)->Arg(10'000'000);
BENCHMARK(live_map_pairs<true>)->Arg(1'000)->Arg(100'000)->Arg(1'000'000)->Arg(10'000'000);

void robin_map_pairs(benchmark::State& state) {
  const auto addresses = shuffled_addresses(static_cast<std::size_t>(state.range(0)));
  tsl::robin_map<std::uint64_t, LiveBlock> map;
  std::uint64_t number = 0;
  for (std::uint64_t address : addresses) map.emplace(address, LiveBlock{32, ++number});
  std::size_t at = 0;
  for (auto step : state) {
    (void)step;
    const auto found = map.find(addresses[at]);
    const LiveBlock block = found->second;
    map.erase(found);
    map.emplace(addresses[at], LiveBlock{block.size, ++number});
    if (++at == addresses.size()) at = 0;
  }
  state.SetItemsProcessed(state.iterations() * 2);
}
BENCHMARK(robin_map_pairs)->Arg(1'000)->Arg(100'000)->Arg(1'000'000)->Arg(10'000'000);

void live_map_growth(benchmark::State& state) {
  const auto addresses = shuffled_addresses(static_cast<std::size_t>(state.range(0)));
  for (auto step : state) {
    (void)step;
    LiveMap map;
    std::uint64_t number = 0;
    for (std::uint64_t address : addresses) map.insert(address, {32, ++number});
    benchmark::DoNotOptimize(map.size());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(live_map_growth)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace heaptape

BENCHMARK_MAIN();
