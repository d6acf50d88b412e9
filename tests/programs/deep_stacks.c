// Threads that stand at known places: deep in a recursion, in a system call, in a loop. Says "ready", then the kernel's numbers of these three
// and of the main thread, then the addresses of a variable of the outermost call of the recursion, of one of main, and of one in a call
// that has returned. Waits for the end of its input.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kDepth = 3000 };

static atomic_int numbers[3];
static atomic_int is_spinning;
static volatile uintptr_t of_outermost, of_the_past;

static int own_number(void) { return (int)syscall(SYS_gettid); }

__attribute__((noinline)) static int descend(int depth) {
  volatile char room[48];
  room[0] = (char)depth;
  if (depth == kDepth) of_outermost = (uintptr_t)room;
  if (depth == 1) {
    atomic_store(&numbers[0], own_number());
    while (pause() != 0) continue;
    return 0;
  }
  return descend(depth - 1) + room[0];
}
static void* go_down(void* unused) {
  (void)unused;
  return (void*)(intptr_t)descend(kDepth);
}

__attribute__((noinline)) static void wait_for_bytes(int from) {
  char bytes[16];
  atomic_store(&numbers[1], own_number());
  while (read(from, bytes, sizeof bytes) != 0) continue;
}
static void* go_reading(void* from) {
  wait_for_bytes(*(int*)from);
  return NULL;
}

__attribute__((noinline)) static void spin(void) {
  atomic_store(&numbers[2], own_number());
  while (1) atomic_fetch_add(&is_spinning, 1);
}
static void* go_round(void* unused) {
  (void)unused;
  spin();
  return NULL;
}

// Until the kernel says that the thread is in this system call.
static void wait_for_call(int thread, long call) {
  char path[64], text[256];
  snprintf(path, sizeof path, "/proc/self/task/%d/syscall", thread);
  while (1) {
    FILE* const file = fopen(path, "r");
    if (file == NULL) exit(2);
    const char* const line = fgets(text, sizeof text, file);
    fclose(file);
    if (line != NULL && strncmp(line, "running", 7) != 0 && strtol(line, NULL, 10) == call) return;
    usleep(1000);
  }
}

__attribute__((noinline)) static void use_the_stack(void) {
  volatile char room[4096];
  memset((char*)room, 1, sizeof room);
  of_the_past = (uintptr_t)room;
}

int main(void) {
  char here = 0;
  int ends[2];
  pthread_t thread;
  if (pipe(ends) != 0) return 2;
  pthread_create(&thread, NULL, go_down, NULL);
  pthread_create(&thread, NULL, go_reading, &ends[0]);
  pthread_create(&thread, NULL, go_round, NULL);
  for (int i = 0; i < 3; ++i)
    while (atomic_load(&numbers[i]) == 0) usleep(1000);
  wait_for_call(atomic_load(&numbers[0]), SYS_pause);
  wait_for_call(atomic_load(&numbers[1]), SYS_read);
  while (atomic_load(&is_spinning) == 0) usleep(1000);
  use_the_stack();
  printf("ready %x %x %x %x %lx %lx %lx\n", atomic_load(&numbers[0]), atomic_load(&numbers[1]),
         atomic_load(&numbers[2]), own_number(), (unsigned long)of_outermost, (unsigned long)(uintptr_t)&here,
         (unsigned long)of_the_past);
  fflush(stdout);
  while (read(STDIN_FILENO, &here, 1) > 0) continue;
  return 0;
}
