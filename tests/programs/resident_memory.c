// Memory of every sort, in known amounts: a mapping that is touched and one that is not, a reservation, live blocks, freed blocks that
// malloc keeps, a thread's deep stack, a file that is read through a mapping. Says "ready", and ends when its input does. With a number, that many threads
// more, each with a block.
//
// usage: resident_memory [THREADS]
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kPage = 4096, kMiB = 1 << 20 };

static pthread_barrier_t g_ready, g_end;
static void* g_live[100];

static void check(const void* memory) {
  if (memory == MAP_FAILED) exit(3);
}

static void map_cache(void) {
  void* memory = mmap(NULL, 8 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(memory);
  memset(memory, 1, 8 * kMiB);
}
static void map_for_later(void) {
  check(mmap(NULL, 32 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}
static void reserve(void) { check(mmap(NULL, 64 * kMiB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)); }

static void fill_heap(void) {
  for (int i = 0; i < 100; ++i) g_live[i] = memset(malloc(40000), 1, 40000);
}

// Sizes that malloc takes from its heap, with live blocks behind them: it cannot give them back.
static void free_blocks(void) {
  static void* blocks[200];
  for (int i = 0; i < 200; ++i) blocks[i] = memset(malloc(16000), 1, 16000);
  fill_heap();
  for (int i = 0; i < 200; ++i) free(blocks[i]);
}

static void* deep_thread(void* argument) {
  char room[3 * kMiB];
  memset(room, 1, sizeof room);
  pthread_barrier_wait(&g_ready);
  pthread_barrier_wait(&g_end);
  (void)argument;
  return room[kPage] == 1 ? NULL : &g_ready;
}

static void* small_thread(void* argument) {
  void* volatile block = malloc(111);
  pthread_barrier_wait(&g_ready);
  pthread_barrier_wait(&g_end);
  free(block);
  return argument;
}

static int read_file(void) {
  FILE* file = tmpfile();
  static char page[kPage];
  for (int i = 0; i < 2 * kMiB / kPage; ++i) fwrite(page, 1, kPage, file);
  fflush(file);
  volatile const char* text = mmap(NULL, 2 * kMiB, PROT_READ, MAP_PRIVATE, fileno(file), 0);
  int sum = 0;
  for (int i = 0; i < 2 * kMiB; i += kPage) sum += text[i];
  return sum;
}

int main(int argc, char** argv) {
  const unsigned more = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
  pthread_barrier_init(&g_ready, NULL, more + 2);
  pthread_barrier_init(&g_end, NULL, more + 2);
  pthread_t thread, other;
  free_blocks();
  map_cache();
  map_for_later();
  reserve();
  if (read_file() != 0) return 4;
  if (pthread_create(&thread, NULL, deep_thread, NULL) != 0) return 5;
  for (unsigned i = 0; i < more; ++i) {
    if (pthread_create(&other, NULL, small_thread, NULL) != 0) return 5;
    pthread_detach(other);
  }
  pthread_barrier_wait(&g_ready);
  puts("ready");
  fflush(stdout);
  while (getchar() != EOF) {}
  pthread_barrier_wait(&g_end);
  pthread_join(thread, NULL);
  return 0;
}
