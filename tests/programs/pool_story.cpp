// An arena, a list of fixed blocks and a pool in static memory, all told to heaptape; counts for itself and prints what it counted, a line per pool:
// name, live bytes, live blocks, peak bytes, allocated bytes, allocated blocks.
#include <heaptape/heaptape.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Counts {
  const char* name;
  unsigned long live = 0, live_blocks = 0, peak = 0, allocated = 0, blocks = 0;
  void make(unsigned long size) {
    live += size, ++live_blocks, allocated += size, ++blocks;
    if (live > peak) peak = live;
  }
  void end(unsigned long size) { live -= size, --live_blocks; }
  void print() const { std::printf("%s|%lu|%lu|%lu|%lu|%lu\n", name, live, live_blocks, peak, allocated, blocks); }
};

// Bump allocation in one malloc'ed block; emptied at once.
struct Arena {
  Counts counts{"parser arena"};
  char* memory = static_cast<char*>(std::malloc(1 << 20));
  std::size_t used = 0;

  void* take(std::size_t size) {
    void* block = memory + used;
    used += (size + 7) & ~std::size_t{7};
    heaptape_alloc(counts.name, block, size);
    counts.make(size);
    return block;
  }
  void clear() {
    heaptape_pool_reset(counts.name);
    counts.live = counts.live_blocks = 0;
    used = 0;
  }
};

// Fixed blocks in static memory, given back one by one, from several threads.
struct Nodes {
  Counts counts{"nodes"};
  std::mutex mutex;
  std::vector<int> unused;
  char memory[256][48];

  Nodes() {
    for (int i = 0; i < 256; ++i) unused.push_back(i);
  }
  void* take() {
    const std::lock_guard lock(mutex);
    void* block = memory[unused.back()];
    unused.pop_back();
    heaptape_alloc(counts.name, block, sizeof memory[0]);
    counts.make(sizeof memory[0]);
    return block;
  }
  void give(void* block) {
    const std::lock_guard lock(mutex);
    heaptape_free(counts.name, block);
    counts.end(sizeof memory[0]);
    unused.push_back(static_cast<int>((static_cast<char*>(block) - memory[0]) / 48));
  }
};

Nodes nodes;

__attribute__((noinline)) void* parse_word(Arena& arena, std::size_t size) {
  return std::memset(arena.take(size), 1, size);
}
__attribute__((noinline)) void parse_file(Arena& arena, int words) {
  for (int i = 0; i < words; ++i) parse_word(arena, static_cast<std::size_t>(10 + i % 50));
}

void work() {
  for (int round = 0; round < 500; ++round) {
    void* held[8];
    for (void*& one : held) one = nodes.take();
    for (void* one : held) nodes.give(one);
  }
}

} // namespace

int main(int argc, char** argv) {
  Arena arena;
  parse_file(arena, 1000);
  arena.clear();
  parse_file(arena, 300);

  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  void* kept = nodes.take();
  for (int i = 0; i < 4; ++i) nodes.take();

  // A name that is not the same pointer each time, and a size beyond four gigabytes.
  Counts huge{"huge"};
  const std::string name = std::string("hu") + "ge";
  heaptape_alloc(name.c_str(), arena.memory, std::size_t{5} << 32 | 123);
  huge.make(5ul << 32 | 123);
  heaptape_alloc(nullptr, kept, 1);
  heaptape_alloc("nothing", nullptr, 1);
  if (argc > 1 && std::strcmp(argv[1], "wrong") == 0) {
    heaptape_free(nodes.counts.name, kept);
    heaptape_free(nodes.counts.name, kept);
    heaptape_alloc(nodes.counts.name, static_cast<char*>(kept) + 8, 8);
    heaptape_alloc(nodes.counts.name, kept, 16);
  }
  arena.counts.print();
  nodes.counts.print();
  huge.print();
  std::printf("%p\n", kept);
}
