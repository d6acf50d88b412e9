// Asks for snapshots of its own memory, or ends in some way: contents_moments WAY...
//
// Each way is a word; they are gone through one after the other. What is lost, kept and held in a register only is the same in all of them:
//   10 chains of 2 blocks of 48 bytes that nobody knows any more, 100 blocks of 48 bytes in a list, one of 777 bytes that a local variable holds
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <heaptape/heaptape.h>

struct node {
  struct node* next;
  char rest[40];
};

static struct node* kept;
static volatile int zero;
static volatile int* volatile nowhere;

__attribute__((noinline)) static void lose(void) {
  struct node* volatile first = malloc(sizeof *first);
  first->next = malloc(sizeof *first);
  memset(first->rest, 1, sizeof first->rest);
  first = NULL;
}

__attribute__((noinline)) static void scrub(void) {
  volatile char over[4096];
  for (size_t i = 0; i < sizeof over; ++i) over[i] = 0;
}

static void* ask_often(void* name) {
  for (int i = 0; i < 3; ++i) {
    if (heaptape_contents(name) < 0) return name;
  }
  return NULL;
}

static void ask_from_threads(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, ask_often, "thread");
  for (int i = 0; i < 4; ++i) {
    void* failed = NULL;
    pthread_join(threads[i], &failed);
    if (failed != NULL) puts("a thread got no snapshot");
  }
}

static void* fault(void* unused) {
  (void)unused;
  *nowhere = 1;
  return NULL;
}

static void fault_in_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, fault, NULL);
  pthread_join(thread, NULL);
}

__attribute__((noinline)) static int overflow(volatile int depth) {
  volatile char frame[1000];
  frame[0] = (char)depth;
  return depth == -1 ? 0 : overflow(depth + 1) + frame[0];
}

static void own_handler(int signal) {
  (void)signal;
  static const char text[] = "own handler\n";
  (void)!write(1, text, sizeof text - 1);
  _exit(9);
}

// A child's end is not the program's.
static void fork_child(int crash) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    if (crash) fault(NULL);
    exit(3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("child: %s %d\n", WIFSIGNALED(status) ? "signal" : "status",
         WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void vfork_child(void) {
  const pid_t child = vfork();
  if (child == 0) _exit(4);
  int status = 0;
  waitpid(child, &status, 0);
  printf("vfork: %d\n", WEXITSTATUS(status));
}

static void at_the_end(void) { puts("function of atexit"); }

static void go(const char* way) {
  if (strcmp(way, "contents") == 0) printf("snapshot %ld\n", heaptape_contents("asked"));
  if (strcmp(way, "threads") == 0) ask_from_threads();
  if (strcmp(way, "child") == 0) fork_child(0);
  if (strcmp(way, "crashing-child") == 0) fork_child(1);
  if (strcmp(way, "vfork") == 0) vfork_child();
  if (strcmp(way, "atexit") == 0) atexit(at_the_end);
  if (strcmp(way, "forget") == 0) kept = NULL;
  if (strcmp(way, "own-handler") == 0) signal(SIGSEGV, own_handler);
  if (strcmp(way, "usr2") == 0) raise(SIGUSR2), printf("slept: %u\n", sleep(0));
  fflush(stdout);
  if (strcmp(way, "exit") == 0) exit(7);
  if (strcmp(way, "_exit") == 0) _exit(7);
  if (strcmp(way, "quick_exit") == 0) quick_exit(7);
  if (strcmp(way, "exit_group") == 0) syscall(SYS_exit_group, 7);
  if (strcmp(way, "thread_exit") == 0) pthread_exit(NULL);
  if (strcmp(way, "fault") == 0) fault(NULL);
  if (strcmp(way, "thread_fault") == 0) fault_in_thread();
  if (strcmp(way, "divide") == 0) exit(7 / zero);
  if (strcmp(way, "abort") == 0) abort();
  if (strcmp(way, "trap") == 0) __builtin_trap();
  if (strcmp(way, "kill_segv") == 0) kill(getpid(), SIGSEGV);
  if (strcmp(way, "kill") == 0) kill(getpid(), SIGKILL);
  if (strcmp(way, "overflow") == 0) printf("%d\n", overflow(0));
}

int main(int count, char** ways) {
  for (int i = 0; i < 100; ++i) {
    struct node* node = malloc(sizeof *node);
    node->next = kept;
    kept = node;
  }
  for (int i = 0; i < 10; ++i) lose();
  char* const held = malloc(777);
  strcpy(held, "held");
  scrub();
  for (int i = 1; i < count; ++i) go(ways[i]);
  return held[0] == 'h' ? 7 : 1;
}
