// Makes other processes in every way there is while it allocates. The first process makes MAIN blocks of 500 bytes, every
// child blocks of 600 bytes; the program says how the children ended.
//
// usage: processes fork-storm|fork-with-threads|raw-clone|vfork|posix_spawn|wait-for-all|daemon [FILE]
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static void make_blocks(int count, size_t size) {
  for (int i = 0; i != count; ++i) {
    void* volatile block = malloc(size);
    free(block);
  }
}

static void run_child(void) {
  make_blocks(50, 600);
  _exit(9);
}

static int good_children;
static void reap(pid_t child, int expected) {
  int status = 0;
  if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == expected) ++good_children;
}

static void fork_storm(void) {
  for (int i = 0; i != 10; ++i) {
    pid_t children[10];
    for (int j = 0; j != 10; ++j) {
      children[j] = fork();
      if (children[j] == 0) run_child();
      make_blocks(10, 500);
    }
    for (int j = 0; j != 10; ++j) reap(children[j], 9);
  }
}

// Threads that allocate whenever the main thread forks, and then pause: on a slow machine they make no more blocks than on a fast one.
static atomic_int forks, stop_threads;
static void* allocate_at_forks(void* unused) {
  for (int seen = 0; !stop_threads;) {
    if (forks == seen)
      usleep(100);
    else
      make_blocks(500, 700);
    seen = forks;
  }
  return unused;
}

static void fork_with_threads(void) {
  pthread_t threads[3];
  for (int i = 0; i != 3; ++i) pthread_create(&threads[i], NULL, allocate_at_forks, NULL);
  for (int i = 0; i != 60; ++i) {
    ++forks;
    const pid_t child = fork();
    if (child == 0) run_child();
    make_blocks(10, 500);
    reap(child, 9);
  }
  stop_threads = 1;
  for (int i = 0; i != 3; ++i) pthread_join(threads[i], NULL);
}

static void raw_clone(void) {
  for (int i = 0; i != 20; ++i) {
    const pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) run_child();
    make_blocks(10, 500);
    reap(child, 9);
  }
}

static void vforks(void) {
  for (int i = 0; i != 20; ++i) {
    const pid_t child = vfork();
    if (child == 0) {
      if (i % 2 == 0) _exit(9);
      execl("/bin/sh", "sh", "-c", "exit 9", NULL);
      _exit(1);
    }
    make_blocks(10, 500);
    reap(child, 9);
  }
}

static void spawns(void) {
  for (int i = 0; i != 10; ++i) {
    char* const arguments[] = {"sh", "-c", "exit 9", NULL};
    pid_t child = 0;
    if (posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ) != 0) return;
    make_blocks(10, 500);
    reap(child, 9);
  }
}

// Children that are not the program's own would show here, as would a SIGCHLD nobody sent.
static volatile int signals_seen;
static void count_signal(int signal_number) {
  (void)signal_number;
  signals_seen = signals_seen + 1;
}

static void wait_for_all(void) {
  signal(SIGCHLD, count_signal);
  const pid_t nobody = wait(NULL);
  printf("at first: %d %s\n", (int)nobody, errno == ECHILD ? "no children" : "?");
  make_blocks(1000, 500);
  for (int i = 0; i != 3; ++i) {
    const pid_t child = fork();
    if (child == 0) run_child();
  }
  int children = 0;
  for (;;) {
    int status = 0;
    const pid_t child = waitpid(-1, &status, __WALL);
    if (child < 0 && errno == EINTR) continue;
    if (child < 0) break;
    ++children;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 9) ++good_children;
  }
  printf("in the end: %d children, errno %s, %s\n", children, errno == ECHILD ? "ECHILD" : "?",
         signals_seen >= 1 && signals_seen <= 3 ? "signalled" : "signals wrong");
}

static void daemonize(const char* file) {
  make_blocks(100, 500);
  if (daemon(1, 0) != 0) exit(1);
  make_blocks(100, 600);
  FILE* out = fopen(file, "w");
  fprintf(out, "session leader: %d\n", getsid(0) == getpid());
  fclose(out);
  exit(0);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  const char* way = argv[1];
  if (strcmp(way, "fork-storm") == 0)
    fork_storm();
  else if (strcmp(way, "fork-with-threads") == 0)
    fork_with_threads();
  else if (strcmp(way, "raw-clone") == 0)
    raw_clone();
  else if (strcmp(way, "vfork") == 0)
    vforks();
  else if (strcmp(way, "posix_spawn") == 0)
    spawns();
  else if (strcmp(way, "wait-for-all") == 0)
    wait_for_all();
  else if (strcmp(way, "daemon") == 0 && argc == 3)
    daemonize(argv[2]);
  else
    return 2;
  printf("%d children ended well\n", good_children);
  return 0;
}
