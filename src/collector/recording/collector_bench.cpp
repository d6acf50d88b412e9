// How fast the collector is: synthetic rings, refilled between rounds, only the rounds are timed (CPU time of the
// thread, so that a busy machine disturbs less). "list" ends at a sink that counts; "tape" encodes, compresses and
// writes. The argument pairs are (rings, live blocks); best_ns is the quickest emptying of all rings, per event.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "collector/events/tape_sink.h"
#include "collector/recording/fake_program.h"
#include "tape/writer.h"

namespace heaptape {
namespace {

struct CountingSink {
  void add(const Event& event, std::uint64_t allocated_at) { sum += event.address + allocated_at; }
  std::uint64_t sum = 0;
};

// A program in a steady state: each step releases a block and makes another of a size that belongs to its stack. Half
// of the blocks die young, as in most programs; addresses come back as a free list would give them.
class Workload {
public:
  Workload(FakeProgram& program, std::uint32_t rings, std::size_t live) : random_(7) {
    for (std::uint32_t i = 0; i < rings; ++i) {
      threads_.push_back(std::make_unique<FakeThread>(program, i, 100 + i, ++time_));
    }
    std::uint32_t parent = 0;
    for (std::uint32_t i = 0; i < 400; ++i) {
      parent = program.node(random_() % 4 == 0 ? 0 : parent, 0x5555'0000'0000 + random_() % 100'000);
      stacks_.push_back(parent);
    }
    std::uint64_t address = 0x7f00'0000'0000;
    blocks_.resize(live);
    for (Block& block : blocks_) {
      block.stack = random_() % stacks_.size();
      block.address = address;
      address += 16 + size_of(block.stack) / 16 * 16;
    }
  }

  // Writes until every ring is full; the first `live` allocations come first.
  void fill() {
    for (auto& thread : threads_) {
      while (thread->has_room()) step(*thread);
    }
  }

private:
  struct Block {
    std::uint64_t address;
    std::size_t stack;
  };
  static std::uint64_t size_of(std::size_t stack) { return 16 + stack % 37 * 24; }

  void step(FakeThread& thread) {
    time_ += 30 + random_() % 64;
    if (made_ < blocks_.size()) {
      make(thread, blocks_[made_++]);
    } else if (free_ == nullptr) {
      const std::size_t at = random_() % 2 == 0 ? young_ = (young_ + 1) % blocks_.size() : random_() % blocks_.size();
      free_ = &blocks_[at];
      thread.free(time_, free_->address, stacks_[free_->stack]);
    } else {
      make(thread, *free_);
      free_ = nullptr;
    }
  }
  void make(FakeThread& thread, const Block& block) {
    thread.malloc(time_, block.address, size_of(block.stack), stacks_[block.stack]);
  }

  std::mt19937_64 random_;
  std::vector<std::unique_ptr<FakeThread>> threads_;
  std::vector<std::uint32_t> stacks_;
  std::vector<Block> blocks_;
  Block* free_ = nullptr;
  std::size_t made_ = 0;
  std::size_t young_ = 0;
  std::uint64_t time_ = 1000;
};

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The number of events.
template <class Sink>
std::uint64_t drain(benchmark::State& state, Sink& sink, FakeProgram& program, StackFolder& stacks) {
  const auto rings = static_cast<std::uint32_t>(state.range(0));
  const auto live = static_cast<std::size_t>(state.range(1));
  Workload workload(program, rings, live);
  TickClock clock;
  const std::uint64_t base = program.header.clock_base_monotonic_ns;
  clock.start(false, {program.header.clock_base_ticks, base}, base);
  ThreadList threads;
  RingSet set(program.memory, threads);
  EventBuilder<Sink> builder(clock, stacks, set, sink);
  const auto empty_rings = [&] {
    while (set.round(clock, builder).read != 0) {}
  };
  while (builder.events() < live) {
    workload.fill();
    empty_rings();
  }
  const std::uint64_t before = builder.events();
  double best = 1;
  for (auto step : state) {
    (void)step;
    workload.fill();
    const std::uint64_t events = builder.events();
    const double start = cpu_seconds();
    empty_rings();
    const double seconds = cpu_seconds() - start;
    state.SetIterationTime(seconds);
    best = std::min(best, seconds / static_cast<double>(builder.events() - events));
  }
  state.counters["best_ns"] = best * 1e9;
  state.SetItemsProcessed(static_cast<std::int64_t>(builder.events() - before));
  if (builder.model().totals().collisions != 0) state.SkipWithError("events out of order");
  return builder.events();
}

void to_list(benchmark::State& state) {
  FakeProgram program(8, wire::kDefaultRingRecords);
  StackFolder stacks(program.memory.nodes());
  CountingSink sink;
  drain(state, sink, program, stacks);
  benchmark::DoNotOptimize(sink.sum);
}

void to_tape(benchmark::State& state) {
  FakeProgram program(8, wire::kDefaultRingRecords);
  StackFolder stacks(program.memory.nodes());
  const std::string path = "/tmp/heaptape-bench." + std::to_string(::getpid()) + ".tape";
  Result<TapeWriter> writer = TapeWriter::create({.path = path, .overwrite = true, .start_realtime_ns = 0, .pid = 1});
  if (!writer.ok()) return state.SkipWithError("cannot create a tape");
  {
    TapeSink sink(&writer.value(), stacks, 0);
    const std::uint64_t events = drain(state, sink, program, stacks);
    sink.flush();
    state.counters["bytes/event"] = static_cast<double>(writer.value().bytes_written()) / static_cast<double>(events);
  }
  ::unlink(path.c_str());
}

void arguments(benchmark::internal::Benchmark* bench) {
  for (int rings : {1, 2, 4}) {
    for (int live : {1'000, 100'000, 2'000'000}) bench->Args({rings, live});
  }
  bench->UseManualTime();
}
BENCHMARK(to_list)->Apply(arguments);
BENCHMARK(to_tape)->Apply(arguments);

} // namespace
} // namespace heaptape

BENCHMARK_MAIN();
