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

constexpr int kCalls = 200;
constexpr int kDepth = 30;
constexpr std::size_t kSize = 100;

void* g_blocks[kCalls];
bool g_counting = false;

// Runs `call(i)` for every i; in the counting round, dumps what that cost under the name.
template <class Call> [[gnu::always_inline]] inline void measure(const char* name, Call call) {
  if (g_counting) {
    CALLGRIND_ZERO_STATS;
    CALLGRIND_TOGGLE_COLLECT;
  }
  for (int i = 0; i < kCalls; ++i) call(i);
  if (g_counting) {
    CALLGRIND_TOGGLE_COLLECT;
    CALLGRIND_DUMP_STATS_AT(name);
  }
}

void release_all() {
  for (void* block : g_blocks) std::free(block);
}

void one_round() {
  measure("malloc", [](int i) { g_blocks[i] = std::malloc(kSize); });
  measure("realloc, in place", [](int i) { g_blocks[i] = std::realloc(g_blocks[i], kSize - 1); });
  measure("realloc, moved", [](int i) { g_blocks[i] = std::realloc(g_blocks[i], kSize * 8); });
  measure("free", [](int i) { std::free(g_blocks[i]); });
  measure("calloc", [](int i) { g_blocks[i] = std::calloc(1, kSize); });
  release_all();
  measure("operator new", [](int i) { g_blocks[i] = ::operator new(kSize); });
  measure("operator delete", [](int i) { ::operator delete(g_blocks[i]); });
  measure("operator new, aligned", [](int i) { g_blocks[i] = ::operator new(kSize, std::align_val_t{64}); });
  measure("operator delete, aligned", [](int i) { ::operator delete(g_blocks[i], std::align_val_t{64}); });
  measure("operator new[]", [](int i) { g_blocks[i] = ::operator new[](kSize); });
  measure("operator delete[], sized", [](int i) { ::operator delete[](g_blocks[i], kSize); });
  measure("posix_memalign", [](int i) {
    if (posix_memalign(&g_blocks[i], 64, kSize) != 0) std::abort();
  });
  release_all();
  measure("aligned_alloc", [](int i) { g_blocks[i] = std::aligned_alloc(64, 128); });
  release_all();
  measure("mmap", [](int i) {
    g_blocks[i] = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g_blocks[i] == MAP_FAILED) std::abort();
  });
  measure("munmap", [](int i) { munmap(g_blocks[i], 4096); });
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
  std::printf("%d calls\n", kCalls);
  return depth == kDepth ? 0 : 1;
}
