// Dies in the way that its argument names; tests/e2e/cases_crash.py says what is to be told of each.
#undef NDEBUG // whatever the build says
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct node {
  long a, b, c;
  struct node* next;
};
static struct node* volatile g_null;
static volatile int g_zero;
static const char kText[] = "constant";

__attribute__((noinline, noclone)) static long through(volatile struct node* node) { return (long)node->next; }
__attribute__((noinline, noclone)) static int descend(int level) {
  volatile char room[64];
  room[0] = (char)level;
  return descend(level + 1) + room[0];
}
static void* in_thread(void* argument) {
  (void)argument;
  return (void*)through(g_null);
}

static void raise_again(int number) {
  (void)!write(2, "handler\n", 8);
  signal(number, SIG_DFL);
  raise(number);
}
static void then_abort(int number) {
  (void)number;
  abort();
}
static void then_exit(int number) {
  (void)number;
  _exit(7);
}

static int is(const char* name, const char* wanted) { return strcmp(name, wanted) == 0; }

// What the program is told about signals, a line each.
static int tell_signals(void) {
  for (int number = 1; number < 32; ++number) {
    struct sigaction action;
    if (sigaction(number, NULL, &action) == 0)
      printf("%d %d %x\n", number, action.sa_handler == SIG_DFL, action.sa_flags);
  }
  struct sigaction mine = {.sa_handler = SIG_DFL, .sa_flags = SA_NODEFER}, told;
  sigaddset(&mine.sa_mask, SIGUSR1);
  sigaction(SIGSEGV, &mine, NULL);
  sigaction(SIGSEGV, &mine, &told);
  printf("%d %d %d\n", told.sa_handler == SIG_DFL, (told.sa_flags & SA_NODEFER) != 0,
         sigismember(&told.sa_mask, SIGUSR1));
  printf("%d", signal(SIGABRT, then_exit) == SIG_DFL);
  printf("%d", signal(SIGABRT, SIG_DFL) == then_exit);
  printf("%d", signal(SIGABRT, SIG_IGN) == SIG_DFL);
  printf("%d\n", signal(SIGABRT, SIG_DFL) == SIG_IGN);
  stack_t stack;
  sigaltstack(NULL, &stack);
  printf("%d %d %zu\n", stack.ss_sp == NULL, stack.ss_flags, stack.ss_size);
  return 0;
}

static int status_of_child(int is_vfork) {
  const pid_t child = is_vfork ? vfork() : fork();
  if (child == 0) _exit((int)through(g_null));
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static int read_beyond_file(void) {
  const int fd = open("empty", O_CREAT | O_TRUNC | O_RDWR, 0600);
  volatile char* bytes = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
  return bytes[0];
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  free(malloc(100));
  if (is(how, "null")) return (int)through(g_null);
  if (is(how, "noncanonical")) return (int)through((struct node*)0xbdbdbdbdbdbdbdbdUL);
  if (is(how, "constant")) *(volatile char*)(uintptr_t)kText = 'x';
  if (is(how, "wild")) ((void (*)(void))0x1234567)();
  if (is(how, "null_call")) ((void (*)(void))(uintptr_t)g_null)();
  if (is(how, "division")) return 100 / g_zero;
  if (is(how, "abort")) abort();
  if (is(how, "assert")) assert(argc > 100);
  if (is(how, "trap")) __builtin_trap();
  if (is(how, "recursion")) return descend(0);
  if (is(how, "file_end")) return read_beyond_file();
  if (is(how, "sent")) kill(getpid(), SIGSEGV);
  if (is(how, "forked")) return status_of_child(0);
  if (is(how, "vforked")) return status_of_child(1);
  if (is(how, "tell_signals")) return tell_signals();
  if (is(how, "thread")) {
    pthread_t thread;
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
  }
  if (is(how, "raised_again")) signal(SIGSEGV, raise_again);
  if (is(how, "handler_aborts")) signal(SIGSEGV, then_abort);
  if (is(how, "handler_exits")) signal(SIGSEGV, then_exit);
  return (int)through(g_null);
}
