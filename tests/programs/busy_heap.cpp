// Threads that do nothing but allocate, resize and release, so that any moment finds some of them inside of malloc. Every block is held by a variable, by a
// block that is held, or by the thread that just makes or releases it: at no moment is anything lost. Prints "ready", goes on until the end of its input,
// and says whether all blocks held what was written to them.
//
// usage: busy_heap THREADS
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

struct Holder {
  std::uint64_t* child; // one number
  std::uint64_t number;
  char rest[40];
};

constexpr std::size_t kThreads = 16, kSlots = 64;
// With external linkage, so that no compiler leaves out what is written to them.
Holder* g_holders[kThreads][kSlots];
std::uint64_t* g_resized[kThreads][kSlots]; // the number of words first
std::atomic<bool> g_end{false};
std::atomic<long> g_wrong{0};

namespace {

void let_go(Holder*& slot) {
  if (slot == nullptr) return;
  if (*slot->child != slot->number) ++g_wrong;
  std::free(slot->child);
  std::free(slot);
  slot = nullptr;
}

void resize(std::uint64_t*& slot, std::size_t words) {
  const std::uint64_t before = slot == nullptr ? 0 : slot[0];
  slot = static_cast<std::uint64_t*>(std::realloc(slot, words * sizeof(std::uint64_t)));
  if (before != 0 && (slot[0] != before || slot[(before < words ? before : words) - 1] != before)) ++g_wrong;
  slot[0] = words;
  for (std::size_t i = 0; i < words; ++i) slot[i] = words;
}

void work(std::size_t thread) {
  for (std::uint64_t round = 1; !g_end.load(std::memory_order_relaxed); ++round) {
    const std::size_t place = round * 7919 % kSlots;
    Holder*& holder = g_holders[thread][place];
    let_go(holder);
    holder = static_cast<Holder*>(std::calloc(1, sizeof(Holder) + place * 24));
    holder->child = static_cast<std::uint64_t*>(std::malloc(sizeof(std::uint64_t)));
    *holder->child = holder->number = round;
    resize(g_resized[thread][place], 2 + round * 31 % 700);
  }
}

} // namespace

int main(int count, char** arguments) {
  const std::size_t wanted = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 2;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < wanted && i < kThreads; ++i) threads.emplace_back(work, i);
  if (write(1, "ready\n", 6) != 6) return 1;
  char byte;
  while (read(0, &byte, 1) > 0) {}
  g_end = true;
  for (std::thread& thread : threads) thread.join();
  std::printf("%ld wrong\n", g_wrong.load());
  return 0;
}
