// Four threads, each with blocks of known sizes in an arena of its own, a mapping of the program's own and a large block. Prints what
// lies where, waits until the kernel has been asked about it, and ends with all of it in place.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kThreads = 4, kBlocks = 100, kPage = 4096 };

static pthread_barrier_t g_ready;
static char g_zeroed[64 * kPage];

static void say(const char* what, int number, const volatile void* address) {
  printf("%s %d %lx\n", what, number, (unsigned long)address);
}

static void* work(void* argument) {
  const int number = (int)(long)argument;
  char name[16];
  snprintf(name, sizeof name, "worker-%d", number);
  pthread_setname_np(pthread_self(), name);
  void* last = NULL;
  for (int i = 0; i < kBlocks; ++i) last = malloc(1000 + (size_t)number);
  volatile int here = 0;
  flockfile(stdout);
  say("block", number, last);
  say("stack", number, &here);
  funlockfile(stdout);
  pthread_barrier_wait(&g_ready);
  pause();
  return NULL;
}

int main(void) {
  static char buffer[4096];
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  pthread_barrier_init(&g_ready, NULL, kThreads + 1);
  for (long i = 1; i <= kThreads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, (void*)i) != 0) return 1;
  }
  pthread_barrier_wait(&g_ready);
  volatile int here = 0;
  say("block", 0, malloc(500));
  say("stack", 0, &here);
  say("large", 0, malloc(1 << 20));
  say("zeroed", 0, g_zeroed + sizeof g_zeroed / 2);
  say("code", 0, (void*)(unsigned long)&main);
  say("library", 0, (void*)(unsigned long)&pause);
  say("mmap", 0, mmap(NULL, 300 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  say("reserve", 0, mmap(NULL, 70 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const struct timespec wait = {0, 400 * 1000 * 1000};
  nanosleep(&wait, NULL);
  say("block", 0, malloc(501));
  fflush(stdout);
  _exit(0);
}
