// Starts COUNT threads, a few at a time; each makes blocks of 111 and 222 bytes and leaves the second to its successor.
//
// usage: short_threads COUNT
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void* thread(void* inherited) {
  free(inherited);
  void* volatile own = malloc(111);
  free(own);
  return malloc(222);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const int count = atoi(argv[1]);
  enum { kAtOnce = 8 };
  void* inherited[kAtOnce] = {0};
  for (int i = 0; i < count; i += kAtOnce) {
    pthread_t threads[kAtOnce];
    for (int j = 0; j != kAtOnce; ++j)
      if (pthread_create(&threads[j], NULL, thread, inherited[j]) != 0) return 1;
    for (int j = 0; j != kAtOnce; ++j) pthread_join(threads[j], &inherited[j]);
  }
  printf("%d threads\n", count);
  return 0;
}
