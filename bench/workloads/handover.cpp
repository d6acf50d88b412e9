// handover THREADS DEPTH PAIRS: every thread allocates blocks, hands them to the next thread and frees what the previous one
// handed to it (with one thread: its own), all below DEPTH call frames. PAIRS is per thread.
//
// Blocks travel in chains of 32 through a lock-free inbox, the chain's links inside the blocks, so that nothing but the
// blocks themselves is allocated and no thread spins. A thread that is too far ahead of its neighbour yields.
#include <atomic>
#include <cstdlib>
#include <new>
#include <sched.h>
#include <thread>
#include <vector>

#include "keep.h"

namespace {

using bench::Random;

constexpr std::uint64_t kChain = 32;
constexpr std::int64_t kAhead = 512 * kChain;

struct Block {
  Block* next;
};

struct alignas(64) Inbox {
  std::atomic<Block*> top{nullptr};
  std::atomic<std::int64_t> waiting{0};
};

struct Party {
  Inbox* own;
  Inbox* neighbour;
  std::uint64_t pairs;
  std::uint64_t seed;
};

std::uint64_t free_inbox(Inbox& inbox) {
  Block* block = inbox.top.exchange(nullptr, std::memory_order_acquire); // pairs with hand_over
  std::uint64_t count = 0;
  for (; block != nullptr; ++count) {
    Block* next = block->next;
    std::free(block);
    block = next;
  }
  inbox.waiting.fetch_sub(static_cast<std::int64_t>(count), std::memory_order_relaxed);
  return count;
}

void hand_over(Inbox& inbox, Block* first, Block* last, std::uint64_t count) {
  inbox.waiting.fetch_add(static_cast<std::int64_t>(count), std::memory_order_relaxed);
  Block* top = inbox.top.load(std::memory_order_relaxed);
  do {
    last->next = top;
  } while (!inbox.top.compare_exchange_weak(top, first, std::memory_order_release, std::memory_order_relaxed));
}

void work(const Party& party) {
  Random random(party.seed);
  std::uint64_t made = 0;
  std::uint64_t freed = 0;
  while (made < party.pairs || freed < party.pairs) {
    const bool may_make = made < party.pairs && party.neighbour->waiting.load(std::memory_order_relaxed) < kAhead;
    if (may_make) {
      Block* first = nullptr;
      Block* last = nullptr;
      std::uint64_t count = 0;
      for (; count < kChain && made < party.pairs; ++count, ++made) {
        void* memory = std::malloc(16 + random.below(240));
        if (memory == nullptr) std::abort();
        auto* block = new (memory) Block{first};
        if (last == nullptr) last = block;
        first = block;
      }
      hand_over(*party.neighbour, first, last, count);
    }
    const std::uint64_t taken = free_inbox(*party.own);
    freed += taken;
    if (taken == 0 && !may_make) sched_yield();
  }
}

[[gnu::noinline]] unsigned descend(unsigned depth, const Party& party) {
  if (depth == 0) {
    work(party);
    return 0;
  }
  return 1 + descend(depth - 1, party);
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const auto thread_count = static_cast<std::size_t>(std::strtoul(argv[1], nullptr, 10));
  const auto depth = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
  const auto pairs = std::strtoull(argv[3], nullptr, 10);
  std::vector<Inbox> inboxes(thread_count);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < thread_count; ++i) {
    const Party party{&inboxes[i], &inboxes[(i + 1) % thread_count], pairs, i + 1};
    threads.emplace_back([party, depth] { descend(depth, party); });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}
