// The command line of check_twins and check_twins_cpp: where the cases run, and how the program ends.
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check_twins.h"

enum { kLongestCase = 200 };

__attribute__((noinline)) void* hidden(void* pointer) {
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

void refuse(const char* what, const char* word) {
  fprintf(stderr, "%s %s\n", what, word);
  _exit(99);
}

size_t number_of(const char* word) {
  char* end = NULL;
  const size_t number = strtoull(word, &end, 10);
  if (end == word || *end != 0) refuse("not a number:", word);
  return number;
}

// Without a buffer, so that it is there however the program ends, and without malloc.
static void print(const char* text) {
  const size_t length = strlen(text);
  if (write(STDOUT_FILENO, text, length) != (ssize_t)length) _exit(98);
}

void say(const struct twin* twin, const void* block, size_t size) {
  char line[kLongestCase + 64];
  snprintf(line, sizeof line, "%s %#" PRIxPTR " %zu\n", twin->text, (uintptr_t)block, size);
  print(line);
}

const struct maker* find_maker(const char* name) {
  for (const struct maker* maker = kMakers; maker->name != NULL; ++maker) {
    if (strcmp(maker->name, name) == 0) return maker;
  }
  refuse("no way to make a block:", name);
}

const struct releaser* find_releaser(const char* name) {
  for (const struct releaser* releaser = kReleasers; releaser->name != NULL; ++releaser) {
    if (strcmp(releaser->name, name) == 0) return releaser;
  }
  refuse("no way to release a block:", name);
}

static void run_here(const struct twin* twin) {
  if (!run_write(twin) && !run_late_write(twin) && !run_release(twin) && !run_of_program(twin))
    refuse("no such case:", twin->text);
}

static void* run_in_thread(void* twin) {
  run_here(twin);
  return NULL;
}

static const struct twin* volatile of_handler;
static void handle(int number) {
  (void)number;
  run_here(of_handler);
}

static void run(const struct twin* twin, const char* where) {
  if (strcmp(where, "thread") == 0) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_in_thread, (void*)(uintptr_t)twin) != 0) refuse("no thread", "");
    pthread_join(thread, NULL);
  } else if (strcmp(where, "signal") == 0) {
    of_handler = twin;
    signal(SIGUSR1, handle);
    raise(SIGUSR1);
  } else if (strcmp(where, "fork") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      run_here(twin);
      exit(0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (status != 0) exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
  } else if (*where == 0) {
    run_here(twin);
  } else {
    refuse("no such place:", where);
  }
}

static void run_text(const char* text, bool bad) {
  char room[kLongestCase];
  if (strlen(text) >= sizeof room) refuse("too long a case:", text);
  strcpy(room, text);
  struct twin twin = {.text = text, .words = {"", "", "", "", "", ""}, .bad = bad};
  char* rest = strchr(room, '/');
  const char* where = "";
  if (rest != NULL) {
    *rest++ = 0;
    where = room;
  } else {
    rest = room;
  }
  for (int i = 0; i < kMostWords && rest != NULL; ++i) twin.words[i] = strsep(&rest, ":");
  run(&twin, where);
}

static void* exit_in_thread(void* nothing) {
  (void)nothing;
  exit(7);
}

static int end(const char* how) {
  if (strcmp(how, "return") == 0) return 7;
  if (strcmp(how, "exit") == 0) exit(7);
  if (strcmp(how, "_exit") == 0) _exit(7);
  if (strcmp(how, "_Exit") == 0) _Exit(7);
  if (strcmp(how, "quick_exit") == 0) quick_exit(7);
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "segv") == 0) *(volatile int*)hidden(NULL) = 1;
  if (strcmp(how, "raise") == 0) raise(SIGSEGV);
  if (strcmp(how, "trap") == 0) __builtin_trap();
  if (strcmp(how, "thread") == 0) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, exit_in_thread, NULL) != 0) refuse("no thread", "");
    pthread_exit(NULL); // the last one that runs is the one that calls exit
  }
  if (strcmp(how, "last-thread") == 0) pthread_exit(NULL);
  if (strcmp(how, "exec") == 0) execl("/bin/sh", "sh", "-c", "exit 7", (char*)NULL);
  refuse("no such end:", how);
}

int run_all(int argc, char** argv) {
  if (argc < 2 || (strcmp(argv[1], "good") != 0 && strcmp(argv[1], "bad") != 0)) refuse("good or bad?", "");
  const bool bad = strcmp(argv[1], "bad") == 0;
  for (int i = 2; i < argc; ++i) {
    if (strncmp(argv[i], "end=", 4) == 0) return end(argv[i] + 4);
    run_text(argv[i], bad);
  }
  return 0;
}
