// Known shares of CPU time: work in "one" and twice as much in "two", in several shapes. Prints a sum, so that nothing is left out, and
// the CPU time, in microseconds, that the threads spent in "one" and in "two" by their own clocks.
//
//   cpu_shares plain UNITS             one and two in turns, called from main
//   cpu_shares threads COUNT UNITS     the same in threads that never allocate
//   cpu_shares c11 COUNT UNITS         the same with the threads of C11
//   cpu_shares segments UNITS          segment 1 runs one only, segment 2 two only, segment 3 one only; between 2 and 3 nothing is profiled
//   cpu_shares deep LEVELS UNITS       one at the bottom of a recursion
//   cpu_shares allocate UNITS          two thirds of the time or so in malloc and free, with large blocks among them
//   cpu_shares late UNITS              threads run before the profile starts
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>

#include <heaptape/profile.h>

// A unit is a millisecond or so. Not inlined: two copies of a loop may differ in speed.
__attribute__((noinline)) static unsigned long burn(unsigned long units) {
  unsigned long value = units;
  for (unsigned long i = 0; i < units * 2000000UL; ++i) __asm__ volatile("addq %1, %0" : "+r"(value) : "r"(i));
  return value;
}

static unsigned long g_units;
static atomic_ulong g_sum, g_us_in_one, g_us_in_two;

static unsigned long cpu_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (unsigned long)time.tv_sec * 1000000 + (unsigned long)time.tv_nsec / 1000;
}

__attribute__((noinline)) static unsigned long timed_burn(unsigned long units, atomic_ulong* us) {
  const unsigned long start = cpu_us();
  const unsigned long value = burn(units);
  atomic_fetch_add(us, cpu_us() - start);
  return value;
}

__attribute__((noinline)) unsigned long one(unsigned long units) { return timed_burn(units, &g_us_in_one) + 1; }
__attribute__((noinline)) unsigned long two(unsigned long units) { return timed_burn(2 * units, &g_us_in_two) + 2; }

// In turns of all lengths: the kernel looks at its timers a few hundred times a second, and turns of one length could keep step with it.
__attribute__((noinline)) unsigned long both(unsigned long units) {
  unsigned long sum = 0, random = units;
  while (units > 0) {
    random = random * 6364136223846793005UL + 1442695040888963407UL;
    unsigned long turn = 1 + (random >> 33) % 20;
    if (turn > units) turn = units;
    sum += one(turn) + two(turn);
    units -= turn;
  }
  return sum;
}

static atomic_int g_go;

static void* work(void* unused) {
  (void)unused;
  atomic_fetch_add(&g_sum, both(g_units));
  return NULL;
}

static void* wait_and_work(void* unused) {
  while (!atomic_load(&g_go)) __asm__ volatile("pause");
  return work(unused);
}

__attribute__((noinline)) unsigned long deeper(unsigned long levels) {
  return levels == 0 ? one(g_units) : deeper(levels - 1) + 1;
}

__attribute__((noinline)) unsigned long churn(unsigned long units) {
  enum { kBlocks = 512 };
  static char* blocks[kBlocks];
  unsigned long sum = 0;
  for (unsigned long i = 0; i < units * 20000; ++i) {
    const unsigned long at = i * 2654435761UL % kBlocks;
    free(blocks[at]);
    blocks[at] = malloc(16 + i % 5000);
    blocks[at][0] = (char)i;
    sum += (unsigned long)blocks[at][0];
  }
  for (unsigned long i = 0; i < kBlocks; ++i) free(blocks[i]);
  return sum;
}

static void run_threads(unsigned long count, void* (*routine)(void*), int late) {
  static pthread_t threads[256];
  for (unsigned long i = 0; i < count; ++i) pthread_create(&threads[i], NULL, routine, NULL);
  if (late) heaptape_profile_start(250);
  atomic_store(&g_go, 1);
  for (unsigned long i = 0; i < count; ++i) pthread_join(threads[i], NULL);
}

static int work_c11(void* unused) { return work(unused) != NULL; }

static void run_c11_threads(unsigned long count) {
  static thrd_t threads[256];
  for (unsigned long i = 0; i < count; ++i) thrd_create(&threads[i], work_c11, NULL);
  for (unsigned long i = 0; i < count; ++i) thrd_join(threads[i], NULL);
}

int main(int count, char** words) {
  const char* shape = count > 1 ? words[1] : "";
  const unsigned long first = count > 2 ? strtoul(words[2], NULL, 10) : 1;
  g_units = count > 3 ? strtoul(words[3], NULL, 10) : first;
  unsigned long sum = 0;
  if (strcmp(shape, "plain") == 0) sum = both(first);
  if (strcmp(shape, "threads") == 0) run_threads(first, work, 0);
  if (strcmp(shape, "c11") == 0) run_c11_threads(first);
  if (strcmp(shape, "late") == 0) run_threads(2, wait_and_work, 1);
  if (strcmp(shape, "deep") == 0) sum = deeper(first);
  if (strcmp(shape, "allocate") == 0) sum = churn(first) + one(first);
  if (strcmp(shape, "segments") == 0) {
    heaptape_profile_start(500);
    sum += one(first);
    heaptape_profile_dump();
    sum += two(first);
    heaptape_profile_stop();
    sum += burn(first);
    heaptape_profile_start(100);
    sum += one(first);
    heaptape_profile_stop();
  }
  printf("%lu %lu %lu\n", sum + atomic_load(&g_sum), atomic_load(&g_us_in_one), atomic_load(&g_us_in_two));
  return 0;
}
