// A thread that allocates, then waits, and ends much later; and threads that name themselves, allocate, and are gone at once.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void* waits(void* unused) {
  (void)unused;
  free(malloc(4001));
  usleep(300000);
  return NULL;
}

static void* is_named(void* number) {
  char name[16];
  snprintf(name, sizeof name, "named-%ld", (long)number);
  pthread_setname_np(pthread_self(), name);
  free(malloc(4002));
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, waits, NULL);
  pthread_join(thread, NULL);
  for (long number = 0; number < 3; ++number) {
    pthread_create(&thread, NULL, is_named, (void*)number);
    pthread_join(thread, NULL);
  }
  return 0;
}
