// A heap of 13 million blocks and 21 million references, as a program with maps, lists and arrays of objects has it: what each step from
// a snapshot to retained sizes costs, in CPU time and in bytes per block. Pages lie unpacked in memory, so that unpacking is left out.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "analysis/memory/dominators.h"
#include "analysis/memory/paths.h"
#include "analysis/memory/reachability.h"
#include "analysis/memory/references.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kHeap = 0x5555'0000'0000, kGlobals = 0x5554'0000'0000;
constexpr std::uint32_t kBlocks = 13'000'000;

// All memory side by side, one page of variables first.
class FlatPages : public PageSource {
public:
  std::uint64_t end() const override { return bytes.size() / kPageBytes; }
  bool unpack(std::uint64_t page, PageChunk& chunk) const override {
    chunk.first = page / kPagesPerChunk * kPagesPerChunk;
    const std::size_t from = chunk.first * kPageBytes;
    const std::size_t count = std::min<std::size_t>(kPagesPerChunk * kPageBytes, bytes.size() - from);
    chunk.bytes.resize(count);
    std::memcpy(chunk.bytes.data(), &bytes[from], count);
    return true;
  }
  TableVector<std::byte> bytes;
};

struct MadeUpHeap {
  FlatPages pages;
  std::vector<HeapBlock> blocks;
  std::vector<MappedRange> regions{{kGlobals, kGlobals + kPageBytes, 0, 1, kMapRead | kMapWrite}};
  std::vector<std::string> names{"", "/bin/victim"};
  std::uint64_t next = kHeap + 16;

  void put(std::uint64_t address, std::uint64_t word) {
    std::memcpy(&pages.bytes[address - kHeap + kPageBytes], &word, sizeof word);
  }
  std::uint64_t add(std::uint64_t size, std::uint32_t group) {
    const std::uint64_t address = next;
    next = (next + size + 8 + 15) & ~std::uint64_t{15};
    blocks.push_back({address, size, group});
    return address;
  }

  MadeUpHeap() {
    pages.bytes.resize((std::size_t{1'000} << 20) / kPageBytes * kPageBytes);
    blocks.reserve(kBlocks + 16);
    std::mt19937_64 random(1);
    const std::uint64_t world = add(256, 1);
    std::memcpy(pages.bytes.data(), &world, sizeof world);
    // A search tree with parents: a block per node and one for its text.
    std::vector<std::uint64_t> nodes;
    for (std::uint32_t i = 0; i < kBlocks * 2 / 10; ++i) {
      nodes.push_back(add(72, 2));
      put(nodes.back() + 48, add(30, 3));
    }
    std::vector<std::uint64_t> order(nodes); // in a random order, so that neighbours in the tree are none in memory
    std::shuffle(order.begin(), order.end(), random);
    put(world, order[0]);
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i > 0) put(order[i] + 8, order[(i - 1) / 2]);
      if (2 * i + 1 < order.size()) put(order[i] + 16, order[2 * i + 1]);
      if (2 * i + 2 < order.size()) put(order[i] + 24, order[2 * i + 2]);
    }
    // A hash table of objects, some with a text.
    std::vector<std::uint64_t> table;
    for (std::uint32_t i = 0; i < kBlocks / 10; ++i) {
      const std::uint64_t node = add(40, 4), object = add(i % 2 == 0 ? 80 : 104, 5);
      put(node + 16, object + 16); // as std::make_shared does
      put(node + 24, object);
      if (i % 2 == 0) put(object + 48, add(40, 6));
      table.push_back(node);
    }
    std::shuffle(table.begin(), table.end(), random);
    for (std::size_t i = 0; i + 1 < table.size(); ++i) put(table[i], table[i + 1]);
    put(world + 8, table[0]);
    // An array of objects that refer to each other at random.
    const std::uint32_t plain = kBlocks * 2 / 10;
    const std::uint64_t array = add(std::uint64_t{plain} * 8, 7);
    put(world + 16, array);
    std::vector<std::uint64_t> plains;
    for (std::uint32_t i = 0; i < plain; ++i) {
      plains.push_back(add(64, 8));
      put(array + std::uint64_t{i} * 8, plains.back());
      if (i > 0) put(plains.back() + 8, plains[random() % i]);
    }
    // A list linked both ways, each node with an object that is referred to in its middle.
    std::uint64_t last = world + 24;
    while (blocks.size() + 1002 < kBlocks) {
      const std::uint64_t node = add(24, 9);
      put(node + 16, add(72, 10) + 16);
      put(last, node);
      put(node + 8, last);
      last = node;
    }
    for (int i = 0; i < 500; ++i) put(add(64, 11) + 8, add(100, 12)); // lost
    pages.bytes.resize((next - kHeap + 2 * kPageBytes) / kPageBytes * kPageBytes);
  }
  std::vector<PageRun> runs() const {
    return {{kGlobals, kGlobals + kPageBytes, PageState::Stored, 0},
            {kHeap, kHeap + pages.bytes.size() - kPageBytes, PageState::Stored, 1}};
  }
};

// Each step is made when first needed; the benchmarks come in this order, and each measures the one that makes it.
struct Steps {
  MadeUpHeap heap;
  MemoryImage image{heap.runs(), heap.pages};
  std::unique_ptr<BlockRanks> ranks{};
  std::unique_ptr<ReferenceGraph> graph{};
  std::unique_ptr<Roots> roots{};
  KnownPlaces known{};

  HeapView view() const { return {image, *ranks, *graph, *roots}; }
};
Steps& steps() {
  static Steps all;
  return all;
}

void per_block(benchmark::State& state, std::size_t bytes) {
  state.counters["bytes/block"] = static_cast<double>(bytes) / steps().ranks->size();
}

void index_of_blocks(benchmark::State& state) {
  for (auto step : state) {
    (void)step;
    state.PauseTiming();
    std::vector<HeapBlock> blocks = steps().heap.blocks;
    if (state.range(0) != 0) std::shuffle(blocks.begin(), blocks.end(), std::mt19937(1));
    state.ResumeTiming();
    steps().ranks = std::make_unique<BlockRanks>(BlockRanks::of(std::move(blocks)).value());
  }
  state.counters["blocks"] = steps().ranks->size();
  per_block(state, steps().ranks->memory_bytes());
}
void edges(benchmark::State& state) {
  for (auto step : state) {
    (void)step;
    steps().graph.reset();
    const GraphOptions options{.threads = static_cast<unsigned>(state.range(0))};
    steps().graph =
        std::make_unique<ReferenceGraph>(ReferenceGraph::of(steps().image, *steps().ranks, options).value());
  }
  state.counters["edges"] = steps().graph->edges();
  state.counters["inside"] = static_cast<double>(steps().graph->interior_edges());
  per_block(state, steps().graph->memory_bytes());
}
void roots_and_known_places(benchmark::State& state) {
  RootFacts facts;
  facts.regions = steps().heap.regions;
  facts.names = steps().heap.names;
  for (auto step : state) {
    (void)step;
    steps().roots = std::make_unique<Roots>(Roots::of(facts, steps().image, *steps().ranks));
    steps().known = KnownPlaces::of(steps().view(), {});
    steps().known.mark(*steps().ranks, *steps().graph);
  }
}
void marking(benchmark::State& state) {
  for (auto step : state) {
    (void)step;
    const auto reach = Reachability::of(steps().view(), steps().known, {.second_look = state.range(0) != 0});
    state.counters["lost"] = static_cast<double>(reach.totals(LeakClass::Definitely).blocks);
    state.counters["indirectly"] = static_cast<double>(reach.totals(LeakClass::Indirectly).blocks);
    state.counters["possibly"] = static_cast<double>(reach.totals(LeakClass::Possibly).blocks);
  }
}
void dominators(benchmark::State& state) {
  for (auto step : state) {
    (void)step;
    const Dominators made = Dominators::of(steps().view());
    state.counters["nodes"] = made.nodes();
    state.counters["world"] = static_cast<double>(made.retained_bytes(1)) / static_cast<double>(made.retained_bytes(0));
  }
}
void shortest_paths(benchmark::State& state) {
  for (auto step : state) {
    (void)step;
    const ShortestPaths paths(steps().view());
    state.counters["steps"] = paths.length(steps().ranks->size() / 5);
  }
}
void references(benchmark::State& state) {
  const std::uint64_t address = steps().ranks->begin(steps().ranks->size() / 5);
  for (auto step : state) {
    (void)step;
    state.counters["found"] =
        static_cast<double>(references_to(steps().view(), {address, address + 1}).references.size());
  }
}
BENCHMARK(index_of_blocks)->Arg(1)->Arg(0)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(edges)->Arg(2)->Arg(1)->Iterations(1)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();
BENCHMARK(roots_and_known_places)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(marking)->Arg(0)->Arg(1)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(dominators)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(shortest_paths)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(references)->Iterations(1)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace heaptape

BENCHMARK_MAIN();
