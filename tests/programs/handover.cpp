// Threads hand every block they make to another thread, which frees or resizes it at once: addresses change hands as fast
// as the allocator can recycle them. Prints the number of blocks made.
//
// usage: handover PAIRS BLOCKS_PER_PAIR
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kSlots = 64;

struct Channel {
  std::atomic<void*> slots[kSlots] = {};
};

void produce(Channel& channel, unsigned blocks) {
  for (unsigned i = 0; i != blocks; ++i) {
    void* block = std::malloc(16 + i % 5 * 16);
    std::atomic<void*>& slot = channel.slots[i % kSlots];
    while (slot.load(std::memory_order_acquire) != nullptr) std::this_thread::yield();
    slot.store(block, std::memory_order_release);
  }
}

void consume(Channel& channel, unsigned blocks) {
  for (unsigned i = 0; i != blocks; ++i) {
    std::atomic<void*>& slot = channel.slots[i % kSlots];
    void* block = nullptr;
    while ((block = slot.load(std::memory_order_acquire)) == nullptr) std::this_thread::yield();
    slot.store(nullptr, std::memory_order_release);
    if (i % 3 == 0) block = std::realloc(block, 200 + i % 100);
    std::free(block);
  }
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const unsigned pairs = static_cast<unsigned>(std::atoi(argv[1]));
  const unsigned blocks = static_cast<unsigned>(std::atoi(argv[2]));
  std::vector<Channel> channels(pairs);
  std::vector<std::thread> threads;
  for (Channel& channel : channels) {
    threads.emplace_back(produce, std::ref(channel), blocks);
    threads.emplace_back(consume, std::ref(channel), blocks);
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%u\n", pairs * blocks);
  return 0;
}
