/* Ends within a few milliseconds and prints addresses that are not in a block: on the stacks of two threads, in thread-local data,
 * in a mapping that is gone, and in a block that thirty others had before. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static __thread int thread_local_variable;

static void* run(void* unused) {
  int local = 0;
  free(malloc(20)); /* a thread that never allocates is not on the tape */
  printf("thread_stack %p\nthread_local %p\n", (void*)&local, (void*)&thread_local_variable);
  return unused;
}

__attribute__((noinline)) static void* map_table(void) {
  return mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
__attribute__((noinline)) static void unmap_table(void* table) { munmap(table, 1 << 20); }

__attribute__((noinline)) static void* first_owner(void) { return malloc(100); }
__attribute__((noinline)) static void* later_owner(void) { return malloc(101); }

int main(void) {
  int local = 0;
  printf("stack %p\n", (void*)&local);
  pthread_t thread;
  pthread_create(&thread, NULL, run, NULL);
  pthread_join(thread, NULL);
  void* table = map_table();
  printf("unmapped %p\n", (void*)((char*)table + 5000));
  unmap_table(table);
  void* block = first_owner();
  printf("reused %p\n", block);
  free(block);
  for (int i = 0; i < 30; ++i) free(later_owner());
  fflush(stdout);
  return 0;
}
