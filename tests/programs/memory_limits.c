// Limits its own memory to 1 GB in every way there is, and says what that comes to: 200 MB can be had, 2 GB cannot, the limit reads
// back as it was set, and so it does in children.
//
// usage: memory_limits address-space|data [show|await]
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static const rlim_t kLimit = 1u << 30;

static void show(const char* who, __rlimit_resource_t resource) {
  struct rlimit limit;
  getrlimit(resource, &limit);
  printf("%s: %lx %lx\n", who, (unsigned long)limit.rlim_cur, (unsigned long)limit.rlim_max);
  fflush(stdout);
}

static const char* have(size_t bytes) {
  void* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return "no";
  munmap(memory, bytes);
  return "yes";
}

static void await_child(pid_t child) {
  int status = 0;
  if (child <= 0 || waitpid(child, &status, 0) != child || status != 0) printf("a child ended with %d\n", status);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const __rlimit_resource_t resource = strcmp(argv[1], "data") == 0 ? RLIMIT_DATA : RLIMIT_AS;
  if (argc == 3) {
    // A spawned child may be quicker than its limit, which its parent's recorder corrects from outside.
    struct rlimit limit = {0, 0};
    for (int i = 0; i != 1000 && strcmp(argv[2], "await") == 0 && limit.rlim_cur != kLimit; ++i) {
      usleep(10000);
      getrlimit(resource, &limit);
    }
    show("child", resource);
    return 0;
  }
  show("at first", resource);
  struct rlimit limit;
  struct rlimit64 old;
  getrlimit(resource, &limit);
  limit.rlim_cur = kLimit;
  if (setrlimit(resource, &limit) != 0) return 1;
  show("soft", resource);
  printf("200 MB: %s, 2 GB: %s\n", have(200u << 20), have(2u << 30));
  limit.rlim_max = 2 * kLimit;
  if (prlimit(0, resource, &limit, (struct rlimit*)&old) != 0) return 1;
  printf("before: %lx %lx\n", (unsigned long)old.rlim_cur, (unsigned long)old.rlim_max);
  show("soft and hard", resource);
  limit.rlim_cur = 3 * kLimit;
  printf("soft above hard: %d\n", setrlimit(resource, &limit));
  if (prlimit64(getpid(), resource, NULL, &old) != 0) return 1;
  printf("now: %lx %lx\n", (unsigned long)old.rlim_cur, (unsigned long)old.rlim_max);
  printf("200 MB: %s, 2 GB: %s\n", have(200u << 20), have(2u << 30));
  fflush(stdout);

  char* const arguments[] = {argv[0], argv[1], "show", NULL};
  pid_t child = fork();
  if (child == 0) {
    show("forked", resource);
    execv("/no/such/program", arguments);
    show("still", resource);
    execv(argv[0], arguments);
    _exit(1);
  }
  await_child(child);
  child = vfork();
  if (child == 0) {
    execv(argv[0], arguments);
    _exit(1);
  }
  await_child(child);
  char* const patient[] = {argv[0], argv[1], "await", NULL};
  if (posix_spawn(&child, argv[0], NULL, NULL, patient, environ) != 0) return 1;
  await_child(child);
  show("in the end", resource);
  return 0;
}
