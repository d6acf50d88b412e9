// How fast a tape is indexed, opened and searched; bench/analysis runs it. Not a micro-benchmark: it works on whole tapes.
//   index_bench make FILE EVENTS LIVE [THREADS]   writes a made-up tape with about LIVE live blocks
//   index_bench decode FILE                       reads all events and does nothing with them
//   index_bench scan FILE                         the same on all processors
//   index_bench pass FILE                         makes the index in memory
//   index_bench index FILE                        appends it
//   index_bench open FILE                         opens the tape and reads its index
//   index_bench seek FILE COUNT                   goes to COUNT random events, one after the other
// Prints name and number, one pair per line; peak memory is the process's.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/heap/heap_model.h"
#include "analysis/index/index.h"
#include "analysis/moment/heap_cursor.h"
#include "tape/parallel_events.h"
#include "tape/reader.h"
#include "tape/writer.h"

namespace {

using namespace heaptape;

void print(const char* name, double number) { std::printf("%s %.6g\n", name, number); }

template <class T>
T checked(Result<T> result) {
  if (result) return std::move(result).value();
  std::fprintf(stderr, "index_bench: %s\n", result.error().sentence.c_str());
  std::exit(1);
}

// Of this program alone: rusage also counts what the process was before exec.
double peak_rss_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) * 1024;
  return 0;
}

class Stopwatch {
public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// A program as they are: few stacks make most of the blocks, most blocks die young, some live long, addresses are used again.
class Program {
public:
  Program(std::uint64_t live, std::uint32_t threads) : live_(live), threads_(threads) {}

  static constexpr std::uint32_t kStacks = 20'000, kSites = 4'000;

  Event next() {
    Event event;
    event.number = ++number_;
    event.time_us = time_us_ += random_() % 5 == 0 ? 1 : 0;
    if (random_() % 50 == 0) thread_ = static_cast<std::uint32_t>(1 + random_() % threads_);
    event.thread = ThreadId(thread_);
    // Two of three events make blocks until there are enough.
    if (blocks_.size() > live_ || (blocks_.size() > live_ / 2 && random_() % 100 < 49) ||
        (!blocks_.empty() && random_() % 3 == 0)) {
      // Nine of ten are the newest; the others any.
      const std::size_t at = random_() % 10 != 0
                                 ? blocks_.size() - 1 - random_() % std::min<std::size_t>(blocks_.size(), 3)
                                 : random_() % blocks_.size();
      const Block block = blocks_[at];
      blocks_[at] = blocks_.back();
      blocks_.pop_back();
      freed_[block.chunk].push_back(block.address);
      event.kind = EventKind::Free;
      event.address = block.address;
      event.stack = StackId(1 + block.site * 5 % kStacks);
      return event;
    }
    // Low numbers are the hot ones.
    const auto site = static_cast<std::uint32_t>(random_() % (1 + random_() % (1 + random_() % kSites)));
    event.kind = site % 3 == 0 ? EventKind::New : EventKind::Malloc;
    event.stack = StackId(1 + site * 5 % kStacks);
    event.size = 8 + site * 37 % 300 + (site % 7 == 0 ? random_() % 1000 : 0);
    const std::uint64_t chunk = (event.size + 23) & ~std::uint64_t{15};
    auto& freed = freed_[chunk];
    if (freed.empty()) {
      event.address = top_;
      top_ += chunk;
    } else {
      event.address = freed.back();
      freed.pop_back();
    }
    blocks_.push_back({event.address, chunk, site});
    return event;
  }

private:
  struct Block {
    std::uint64_t address, chunk;
    std::uint32_t site;
  };
  std::mt19937_64 random_{1};
  std::uint64_t live_;
  std::uint32_t threads_;
  std::uint32_t thread_ = 1;
  std::uint64_t number_ = 0, time_us_ = 0, top_ = 0x5555'5555'0000;
  std::vector<Block> blocks_;
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> freed_;
};

void make(const char* path, std::uint64_t events, std::uint64_t live, std::uint32_t threads) {
  TapeWriter writer = checked(TapeWriter::create({.path = path, .overwrite = true, .start_realtime_ns = 1, .pid = 1}));
  std::vector<StackNode> nodes;
  for (std::uint32_t i = 1; i <= Program::kStacks; ++i) nodes.push_back({StackId(i / 2), 0x5555'0000 + i * 16});
  checked(writer.add_stacks(StackId(1), nodes));
  Program program(live, threads);
  HeapModel model;
  EventEncoder encoder;
  std::uint64_t last_us = 0;
  for (std::uint64_t i = 0; i < events; ++i) {
    Event event = program.next();
    encoder.add(event, model.apply(event));
    last_us = event.time_us;
    if (encoder.full()) checked(writer.add_events(encoder));
  }
  checked(writer.add_events(encoder));
  Summary summary;
  summary.events = events;
  summary.duration_us = last_us;
  checked(writer.add_summary(summary));
  print("tape_bytes", static_cast<double>(writer.bytes_written()));
  print("live_blocks", static_cast<double>(model.totals().live_blocks));
}

void decode(const char* path) {
  const TapeReader tape = checked(TapeReader::open(path));
  const Stopwatch watch;
  EventCursor cursor = tape.events();
  std::uint64_t events = 0;
  for (auto run = cursor.next_run(); !run.empty(); run = cursor.next_run()) events += run.size();
  print("events", static_cast<double>(events));
  print("seconds", watch.seconds());
  print("events_per_second", static_cast<double>(events) / watch.seconds());
}

void scan(const char* path) {
  const TapeReader tape = checked(TapeReader::open(path));
  const Stopwatch watch;
  std::uint64_t events = 0;
  parallel_events<std::uint64_t>(
      tape, {}, [](std::uint64_t& count, std::span<const Event> run) { count += run.size(); },
      [&](std::uint64_t count) { events += count; });
  print("events", static_cast<double>(events));
  print("seconds", watch.seconds());
  print("events_per_second", static_cast<double>(events) / watch.seconds());
}

void pass(const char* path, bool append) {
  const Stopwatch watch;
  std::uint64_t events = 0;
  if (append) {
    MakeIndex options;
    options.progress = [&](std::uint64_t, std::uint64_t all) { events = all; };
    checked(append_index(path, options));
  } else {
    const TapeReader tape = checked(TapeReader::open(path));
    events = build_index(tape).findings.totals.events;
  }
  const double seconds = watch.seconds();
  print("events", static_cast<double>(events));
  print("seconds", seconds);
  print("events_per_second", static_cast<double>(events) / seconds);
}

void open_only(const char* path) {
  const Stopwatch watch;
  const TapeReader tape = checked(TapeReader::open(path));
  print("open_seconds", watch.seconds());
  const FoundIndex found = load_index(tape);
  print("seconds", watch.seconds());
  print("good", found.state == IndexState::Good ? 1 : 0);
  print("owners", static_cast<double>(found.index.findings.by_owner.size()));
  print("keyframes", static_cast<double>(found.index.keyframes.size()));
  std::uint64_t index_bytes = 0;
  for (const ChunkTypeSize& size : tape.chunk_sizes())
    if (size.name.starts_with("INDEX")) index_bytes += size.bytes;
  print("index_bytes", static_cast<double>(index_bytes));
  print("tape_bytes", static_cast<double>(tape.file_bytes() - index_bytes));
}

void seek(const char* path, int count) {
  const TapeReader tape = checked(TapeReader::open(path));
  const FoundIndex found = load_index(tape);
  std::mt19937_64 random(7);
  std::vector<double> seconds;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t event = random() % (tape.event_count() + 1);
    const Stopwatch watch;
    HeapCursor cursor(tape, found.index);
    cursor.seek_event(event);
    seconds.push_back(watch.seconds());
  }
  std::sort(seconds.begin(), seconds.end());
  print("median_seconds", seconds[seconds.size() / 2]);
  print("worst_seconds", seconds.back());
}

} // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    std::fprintf(stderr, "usage: index_bench make|decode|scan|pass|index|open|seek FILE ...; see the source\n");
    return 2;
  }
  const std::string what = arguments[1];
  const char* file = arguments[2];
  const auto number = [&](int at, std::uint64_t otherwise) {
    return at < count ? std::strtoull(arguments[at], nullptr, 10) : otherwise;
  };
  if (what == "make")
    make(file, number(3, 1'000'000), number(4, 10'000), static_cast<std::uint32_t>(number(5, 4)));
  else if (what == "decode")
    decode(file);
  else if (what == "scan")
    scan(file);
  else if (what == "pass" || what == "index")
    pass(file, what == "index");
  else if (what == "open")
    open_only(file);
  else if (what == "seek")
    seek(file, static_cast<int>(number(3, 10)));
  else
    return 2;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  print("cpu_seconds", seconds(usage.ru_utime) + seconds(usage.ru_stime));
  print("peak_rss_bytes", peak_rss_bytes());
  return 0;
}
