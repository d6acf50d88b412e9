// ROUNDS times starts ALIVE threads that all live at once; each makes a block of 111 bytes, moves it to 222 and frees it when all have one.
//
// usage: many_threads ROUNDS ALIVE
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t all_have_one;

static void* thread(void* unused) {
  void* volatile block = malloc(111);
  pthread_barrier_wait(&all_have_one);
  block = realloc(block, 222);
  free(block);
  return unused;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int rounds = atoi(argv[1]);
  const int alive = atoi(argv[2]);
  pthread_t* threads = calloc((size_t)alive, sizeof *threads);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN + 65536);
  pthread_barrier_init(&all_have_one, NULL, (unsigned)alive);
  for (int round = 0; round != rounds; ++round) {
    for (int i = 0; i != alive; ++i)
      if (pthread_create(&threads[i], &small, thread, NULL) != 0) return 1;
    for (int i = 0; i != alive; ++i) pthread_join(threads[i], NULL);
  }
  free(threads);
  printf("%d threads\n", rounds * alive);
  return 0;
}
