// Takes rights away from itself, then makes 1000 blocks of 800 bytes (and some large ones) and says it is done.
//
// usage: confinement MODE [FOLDER]
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void say(const char* text) {
  if (write(1, text, strlen(text)) < 0) _exit(1);
}

static void make_blocks(int count, size_t size) {
  for (int i = 0; i != count; ++i) {
    void* volatile block = malloc(size);
    free(block);
  }
}

// Lets through only what a program needs that allocates, writes and ends; anything else kills it.
static void allow_few_calls(void) {
#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(write),
      ALLOW(exit_group),
      ALLOW(brk),
      ALLOW(mmap),
      ALLOW(munmap),
      ALLOW(futex),
      ALLOW(rt_sigreturn),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    _exit(1);
}

static void limit(__rlimit_resource_t resource, rlim_t value) {
  const struct rlimit both = {value, value};
  if (setrlimit(resource, &both) != 0) _exit(1);
}

static void close_everything(void) {
  for (int number = 3; number != 1024; ++number) close(number);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const char* mode = argv[1];
  make_blocks(100, 900);
  if (strcmp(mode, "seccomp-strict") == 0) {
    void* volatile warm = malloc(100000); // strict mode allows no brk: have room before
    free(warm);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) return 1;
    make_blocks(1000, 800);
    say("done\n");
    syscall(SYS_exit, 6); // exit_group is not allowed either
  }
  if (strcmp(mode, "seccomp-filter") == 0)
    allow_few_calls();
  else if (strcmp(mode, "chroot") == 0 && argc == 3) {
    if (chroot(argv[2]) != 0 || chdir("/") != 0) return 1;
  } else if (strcmp(mode, "chdir") == 0 && argc == 3) {
    if (chdir(argv[2]) != 0) return 1;
  } else if (strcmp(mode, "close-loop") == 0)
    close_everything();
  else if (strcmp(mode, "closefrom") == 0)
    closefrom(3);
  else if (strcmp(mode, "close-range") == 0)
    close_range(0, ~0u, 0); // the output too
  else if (strcmp(mode, "limit-files") == 0)
    limit(RLIMIT_NOFILE, 3);
  else if (strcmp(mode, "limit-file-size") == 0)
    limit(RLIMIT_FSIZE, 0);
  else if (strcmp(mode, "limit-address-space") == 0)
    limit(RLIMIT_AS, 1);
  else if (strcmp(mode, "limit-processes") == 0)
    limit(RLIMIT_NPROC, 0);
  else if (strcmp(mode, "undumpable") == 0)
    prctl(PR_SET_DUMPABLE, 0);
  else if (strcmp(mode, "drop-user") == 0) {
    if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0) return 1;
  } else
    return 2;
  make_blocks(1000, 800);
  if (strcmp(mode, "limit-address-space") != 0) make_blocks(3, 1 << 20);
  if (strcmp(mode, "close-range") != 0) say("done\n");
  _exit(6);
}
