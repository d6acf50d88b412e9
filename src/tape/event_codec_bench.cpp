// How fast EVENTS chunks are made and read, and how large they are, on streams like those of real programs. Counters:
// bytes per event on the tape, events per second. Run it on an idle machine.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tape/event_decoder.h"
#include "tape/event_encoder.h"

namespace heaptape {
namespace {

constexpr std::size_t kEvents = EventEncoder::kMaxEvents;

struct Stream {
  std::vector<Event> events;
  std::vector<std::uint64_t> allocated_at;
};

// A heap that hands out freed blocks of a size last in first out, and records what happens in it.
class Program {
public:
  struct Block {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint64_t made_by = 0;
  };

  Block allocate(std::uint32_t thread, std::uint32_t stack, std::uint64_t size) {
    auto& freed = freed_[thread % 8][(size + 23) / 16 % 64];
    Block block{top_, size, stream.events.size() + 1};
    if (freed.empty()) {
      top_ += std::max<std::uint64_t>((size + 23) & ~std::uint64_t{15}, 32);
    } else {
      block.address = freed.back();
      freed.pop_back();
    }
    add({.address = block.address,
         .size = size,
         .stack = StackId(stack),
         .thread = ThreadId(thread),
         .kind = EventKind::Malloc},
        0);
    return block;
  }
  void release(std::uint32_t thread, std::uint32_t stack, const Block& block) {
    freed_[thread % 8][(block.size + 23) / 16 % 64].push_back(block.address);
    add({.address = block.address, .stack = StackId(stack), .thread = ThreadId(thread), .kind = EventKind::Free},
        block.made_by);
  }
  std::uint64_t any(std::uint64_t end) { return random_() % end; }
  std::size_t size() const { return stream.events.size(); }

  Stream stream;

private:
  void add(Event event, std::uint64_t allocated_at) {
    event.number = stream.events.size() + 1;
    event.time_us = time_ns_ / 1000;
    time_ns_ += 40 + any(200);
    stream.events.push_back(event);
    stream.allocated_at.push_back(allocated_at);
  }

  std::mt19937_64 random_{1};
  std::uint64_t top_ = 0x5555'5555'0010;
  std::uint64_t time_ns_ = 0;
  std::vector<std::uint64_t> freed_[8][64];
};

// malloc and free of one size, one stack each.
Stream pairs() {
  Program program;
  while (program.size() < 4 * kEvents) program.release(1, 11, program.allocate(1, 10, 40));
  return std::move(program.stream);
}

// 100,000 live blocks of random size; at each step one of them is replaced.
Stream random_pairs() {
  Program program;
  std::vector<Program::Block> live(100'000);
  for (auto& block : live) block = program.allocate(1, 10, 16 + program.any(500));
  while (program.size() < 8 * kEvents) {
    auto& block = live[program.any(live.size())];
    program.release(1, 11, block);
    block = program.allocate(1, 10, 16 + program.any(500));
  }
  return std::move(program.stream);
}

// Eight threads, each with its own blocks, events interleaved; one block in eight is released by another thread.
Stream threads() {
  Program program;
  std::vector<Program::Block> live[8];
  while (program.size() < 4 * kEvents) {
    const auto thread = static_cast<std::uint32_t>(program.any(8));
    auto& mine = live[program.any(8) == 0 ? program.any(8) : thread];
    if (mine.size() < 20 || (mine.size() < 200 && program.any(2) == 0)) {
      const auto stack = static_cast<std::uint32_t>(10 + program.any(20));
      mine.push_back(program.allocate(thread + 1, stack, 16 + stack * 8));
    } else {
      program.release(thread + 1, static_cast<std::uint32_t>(40 + program.any(20)), mine.back());
      mine.pop_back();
    }
  }
  return std::move(program.stream);
}

// An interpreter: call sequences from a few thousand stacks that repeat with variations, short-lived objects of the
// size their stack says, and some that live on.
Stream interpreter() {
  Program program;
  std::vector<std::vector<std::uint32_t>> routines(400);
  for (auto& routine : routines) {
    routine.resize(4 + program.any(30));
    for (auto& stack : routine) stack = static_cast<std::uint32_t>(1 + program.any(20'000));
  }
  std::vector<Program::Block> kept;
  while (program.size() < 4 * kEvents) {
    const auto& routine = routines[program.any(program.any(routines.size()) + 1)];
    std::vector<Program::Block> objects;
    for (const std::uint32_t stack : routine) {
      if (program.any(20) == 0) continue;
      objects.push_back(program.allocate(1, stack, 16 + stack % 13 * 16));
      if (program.any(3) != 0) continue;
      program.release(1, stack + 30'000, objects.back());
      objects.pop_back();
    }
    for (; !objects.empty(); objects.pop_back()) {
      if (program.any(10) == 0)
        kept.push_back(objects.back());
      else
        program.release(1, routine[0] + 60'000, objects.back());
    }
    while (kept.size() > 5000) {
      std::swap(kept[program.any(kept.size())], kept.back());
      program.release(1, 99'999, kept.back());
      kept.pop_back();
    }
  }
  return std::move(program.stream);
}

template <Stream (*make)()>
void encode(benchmark::State& state) {
  const Stream stream = make();
  std::uint64_t bytes = 0, events = 0;
  for (auto _ : state) {
    EventEncoder encoder;
    for (std::size_t i = 0; i < stream.events.size(); ++i) {
      encoder.add(stream.events[i], stream.allocated_at[i]);
      if (encoder.full()) bytes += encoder.finish().size();
    }
    if (!encoder.empty()) bytes += encoder.finish().size();
    events += stream.events.size();
  }
  state.counters["bytes/event"] = static_cast<double>(bytes) / static_cast<double>(events);
  state.counters["events"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}

template <Stream (*make)()>
void decode(benchmark::State& state) {
  const Stream stream = make();
  std::vector<std::vector<std::byte>> blocks;
  EventEncoder encoder;
  for (std::size_t i = 0; i < stream.events.size(); ++i) {
    encoder.add(stream.events[i], stream.allocated_at[i]);
    if (!encoder.full() && i + 1 != stream.events.size()) continue;
    const auto payload = encoder.finish();
    blocks.emplace_back(payload.begin(), payload.end());
  }
  EventDecoder decoder;
  std::vector<Event> room(512);
  std::uint64_t events = 0;
  for (auto _ : state) {
    for (const auto& block : blocks) {
      if (!decoder.start(block)) return state.SkipWithError("a block cannot be decoded");
      for (auto run = decoder.next(room); !run.empty(); run = decoder.next(room)) {
        benchmark::DoNotOptimize(run.data());
        events += run.size();
      }
    }
  }
  state.counters["events"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}

BENCHMARK(encode<pairs>)->Unit(benchmark::kMillisecond);
BENCHMARK(encode<random_pairs>)->Unit(benchmark::kMillisecond);
BENCHMARK(encode<threads>)->Unit(benchmark::kMillisecond);
BENCHMARK(encode<interpreter>)->Unit(benchmark::kMillisecond);
BENCHMARK(decode<pairs>)->Unit(benchmark::kMillisecond);
BENCHMARK(decode<random_pairs>)->Unit(benchmark::kMillisecond);
BENCHMARK(decode<threads>)->Unit(benchmark::kMillisecond);
BENCHMARK(decode<interpreter>)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace heaptape
