// only_malloc THREADS ROUNDS own|crossing: threads that do nothing but malloc and free, each its own blocks or what any of them made.
#include <atomic>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "keep.h"

namespace {

constexpr std::size_t kOwn = 256;
constexpr std::size_t kShared = 4096;
std::atomic<void*> g_shared[kShared];

void work(unsigned number, unsigned long rounds, bool crossing) {
  bench::Random random(number + 1);
  void* own[kOwn] = {};
  for (unsigned long i = 0; i < rounds; ++i) {
    const std::size_t size = 16 + random.below(200);
    char* const block = static_cast<char*>(std::malloc(size));
    if (block == nullptr) std::abort();
    block[0] = 1;
    block[size - 1] = 2;
    bench::keep(block);
    if (crossing) {
      std::free(g_shared[random.below(kShared)].exchange(block));
    } else {
      void*& place = own[random.below(kOwn)];
      std::free(place);
      place = block;
    }
  }
  for (void* block : own) std::free(block);
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const auto threads = static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10));
  const auto rounds = std::strtoul(argv[2], nullptr, 10);
  const bool crossing = std::string_view(argv[3]) == "crossing";
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < threads; ++i) workers.emplace_back(work, i, rounds, crossing);
  for (auto& worker : workers) worker.join();
  for (auto& block : g_shared) std::free(block.load());
  return 0;
}
