// hooked_calls: each allocation function a number of times below 30 call frames, with callgrind's counters read around each.
// Run by bench/instructions under callgrind, once plain and once recorded; the difference is what the recorder adds.
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <new>
#include <sys/mman.h>

#include <valgrind/callgrind.h>

#include "keep.h"

namespace {

constexpr int kBatch = 7; // what glibc keeps per size for each thread: every block comes from and goes to that cache
constexpr int kRounds = 30;
constexpr unsigned kDepth = 30;
constexpr std::size_t kSize = 100;
constexpr std::size_t kAlignedSize =
    3008; // aligned blocks bypass that cache; these come from the heap's end and go back to it

void* g_blocks[kBatch];
bool g_counting = false;

// Rounds of: make the blocks, `call` each of them, release them. Only the calls are counted, and dumped under the name.
template <class Make, class Call, class Release>
[[gnu::always_inline]] inline void measure(const char* name, Make make, Call call, Release release) {
  if (g_counting) CALLGRIND_ZERO_STATS;
  for (int round = 0; round < kRounds; ++round) {
    for (void*& block : g_blocks) make(block);
    if (g_counting) CALLGRIND_TOGGLE_COLLECT;
    for (void*& block : g_blocks) call(block);
    if (g_counting) CALLGRIND_TOGGLE_COLLECT;
    for (void*& block : g_blocks) release(block);
  }
  if (g_counting) CALLGRIND_DUMP_STATS_AT(name);
}

void one_round() {
  const auto nothing = [](void*&) {};
  const auto make = [](void*& block) { block = std::malloc(kSize); };
  const auto release = [](void*& block) { std::free(block); };
  const auto make_new = [](void*& block) { block = ::operator new(kSize); };
  const auto release_new = [](void*& block) { ::operator delete(block); };
  const auto make_aligned = [](void*& block) { block = ::operator new (kAlignedSize, std::align_val_t{64}); };
  const auto release_aligned = [](void*& block) { ::operator delete (block, std::align_val_t{64}); };
  const auto make_array = [](void*& block) { block = ::operator new[](kSize); };
  const auto release_array = [](void*& block) { ::operator delete[](block, kSize); };
  const auto map = [](void*& block) {
    block = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) std::abort();
  };
  const auto unmap = [](void*& block) { munmap(block, 4096); };

  measure("malloc", nothing, make, release);
  measure("free", make, release, nothing);
  measure(
      "calloc", nothing, [](void*& block) { block = std::calloc(1, kSize); }, release);
  measure(
      "realloc, in place", make, [](void*& block) { block = std::realloc(block, kSize - 1); }, release);
  measure(
      "realloc, moved", make, [](void*& block) { block = std::realloc(block, kSize * 8); }, release);
  measure(
      "posix_memalign", nothing,
      [](void*& block) {
        if (posix_memalign(&block, 64, kAlignedSize) != 0) std::abort();
      },
      release);
  measure(
      "aligned_alloc", nothing, [](void*& block) { block = std::aligned_alloc(64, kAlignedSize); }, release);
  measure("operator new", nothing, make_new, release_new);
  measure("operator delete", make_new, release_new, nothing);
  measure("operator new[]", nothing, make_array, release_array);
  measure("operator delete[], sized", make_array, release_array, nothing);
  measure("operator new, aligned", nothing, make_aligned, release_aligned);
  measure("operator delete, aligned", make_aligned, release_aligned, nothing);
  measure("mmap", nothing, map, unmap);
  measure("munmap", map, unmap, nothing);
}

[[gnu::noinline]] unsigned descend(unsigned depth) {
  if (depth == 0) {
    // The first rounds fill every table: unwind rules, interned stacks, the allocator's own caches.
    for (int round = 0; round < 3; ++round) one_round();
    g_counting = true;
    one_round();
    return 0;
  }
  return 1 + descend(depth - 1);
}

} // namespace

int main() {
  const unsigned depth = descend(kDepth);
  std::printf("%d calls\n", kBatch * kRounds);
  return depth == kDepth ? 0 : 1;
}
