// Counts for itself what each of its call sites allocates, has live, and had live at the program's peak.
//
//   call_sites FILE THREADS STEPS
//
// Every allocation and its count happen under one lock, so the order of the counts is the order of the events. Nothing else is
// allocated between the start of the first thread's work and the end of the last one's. FILE gets one line per site: name,
// allocated bytes and blocks, live bytes and blocks at the end, live bytes and blocks at the peak; then "total".
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

namespace {

constexpr unsigned kSites = 5;
constexpr unsigned kBlocks = 4096; // live at once, at most

struct Tally {
  std::uint64_t bytes = 0, blocks = 0;
};
struct Site {
  const char* name;
  Tally allocated, live, at_peak;
};
struct Block {
  void* address = nullptr;
  std::uint64_t size = 0;
  unsigned site = 0;
};

Site g_sites[kSites] = {{"site_malloc", {}, {}, {}},
                        {"site_calloc", {}, {}, {}},
                        {"site_realloc", {}, {}, {}},
                        {"site_aligned", {}, {}, {}},
                        {"site_new", {}, {}, {}}};
Block g_blocks[kBlocks];
std::uint64_t g_live = 0, g_peak = 0;
unsigned g_steps = 0;
pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_barrier_t g_start, g_end;

} // namespace

// The empty assembly keeps each call in its function: none is a tail call.
#define SITE extern "C" __attribute__((noinline)) void*
#define STAY() __asm__ volatile("" ::: "memory")

SITE site_malloc(std::size_t size) {
  void* block = std::malloc(size);
  STAY();
  return block;
}
SITE site_calloc(std::size_t size) {
  void* block = std::calloc(1, size);
  STAY();
  return block;
}
SITE site_realloc(void* old, std::size_t size) {
  void* block = std::realloc(old, size);
  STAY();
  return block;
}
SITE site_aligned(std::size_t size) {
  void* block = nullptr;
  if (posix_memalign(&block, 64, size) != 0) std::abort();
  STAY();
  return block;
}
SITE site_new(std::size_t size) {
  void* block = ::operator new(size);
  STAY();
  return block;
}

namespace {

void count_end(const Block& block) {
  g_sites[block.site].live.bytes -= block.size;
  --g_sites[block.site].live.blocks;
  g_live -= block.size;
}

void count_start(const Block& block) {
  Site& site = g_sites[block.site];
  site.allocated.bytes += block.size;
  ++site.allocated.blocks;
  site.live.bytes += block.size;
  ++site.live.blocks;
  g_live += block.size;
}

void count_peak() {
  if (g_live <= g_peak) return;
  g_peak = g_live;
  for (Site& site : g_sites) site.at_peak = site.live;
}

void release(Block& block) {
  count_end(block);
  if (block.site == 4)
    ::operator delete(block.address);
  else
    std::free(block.address);
  block = {};
}

void step(std::uint64_t random) {
  Block& block = g_blocks[random % kBlocks];
  const std::size_t size = 1 + (random >> 20) % 3000;
  const auto site = static_cast<unsigned>((random >> 40) % kSites);
  if (block.address != nullptr && block.site != 4 && site == 2) {
    block.address = site_realloc(block.address, size);
    count_end(block);
    block.size = size;
    block.site = 2;
    count_start(block);
  } else if (block.address != nullptr) {
    release(block);
  } else {
    block.site = site;
    block.size = size;
    block.address = site == 0   ? site_malloc(size)
                    : site == 1 ? site_calloc(size)
                    : site == 2 ? site_realloc(nullptr, size)
                    : site == 3 ? site_aligned(size)
                                : site_new(size);
    count_start(block);
  }
  count_peak();
}

void* work(void* argument) {
  std::uint64_t random = 0x9e37'79b9'7f4a'7c15u * (1 + reinterpret_cast<std::uintptr_t>(argument));
  pthread_barrier_wait(&g_start);
  for (unsigned i = 0; i < g_steps; ++i) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    pthread_mutex_lock(&g_lock);
    step(random);
    pthread_mutex_unlock(&g_lock);
  }
  pthread_barrier_wait(&g_end);
  return nullptr;
}

bool write_counts(const char* path) {
  static char text[4096];
  int size = 0;
  const auto line = [&](const char* name, const Tally& all, const Tally& live, const Tally& peak) {
    size += std::snprintf(text + size, sizeof text - static_cast<std::size_t>(size), "%s %lu %lu %lu %lu %lu %lu\n",
                          name, all.bytes, all.blocks, live.bytes, live.blocks, peak.bytes, peak.blocks);
  };
  Tally all, live, peak;
  for (const Site& site : g_sites) {
    line(site.name, site.allocated, site.live, site.at_peak);
    for (const auto& [sum, part] :
         {std::pair{&all, &site.allocated}, std::pair{&live, &site.live}, std::pair{&peak, &site.at_peak}}) {
      sum->bytes += part->bytes;
      sum->blocks += part->blocks;
    }
  }
  line("total", all, live, peak);
  const int fd = ::open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  return fd >= 0 && ::write(fd, text, static_cast<std::size_t>(size)) == size;
}

} // namespace

#ifdef SUPPRESS_NEW
// As programs have it that are built for LeakSanitizer now and then.
extern "C" const char* __lsan_default_suppressions() { return "leak:^site_new$\n"; }
#endif

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto threads = static_cast<unsigned>(std::atoi(argv[2]));
  g_steps = static_cast<unsigned>(std::atoi(argv[3]));
  static pthread_t ids[64];
  if (threads < 1 || threads > 64) return 2;
  pthread_barrier_init(&g_start, nullptr, threads);
  pthread_barrier_init(&g_end, nullptr, threads);
  // One thread is this one.
  for (unsigned i = 1; i < threads; ++i) {
    if (pthread_create(&ids[i], nullptr, work, reinterpret_cast<void*>(std::uintptr_t{i})) != 0) return 3;
  }
  work(nullptr);
  for (unsigned i = 1; i < threads; ++i) pthread_join(ids[i], nullptr);
  return write_counts(argv[1]) ? 0 : 4;
}
