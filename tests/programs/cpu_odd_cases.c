// What a program may do with signals and time while somebody profiles it. Prints what it saw; that must not depend on the profile.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) static unsigned long burn(unsigned long units) {
  unsigned long value = units;
  for (unsigned long i = 0; i < units * 2000000UL; ++i) __asm__ volatile("addq %1, %0" : "+r"(value) : "r"(i));
  return value;
}

// A profiler of the program's own, in the way of gprof.
static atomic_int g_ticks;
static void on_prof(int signal) { (void)signal, atomic_fetch_add(&g_ticks, 1); }
static void own_profiler(void) {
  struct sigaction action = {.sa_handler = on_prof, .sa_flags = SA_RESTART};
  sigaction(SIGPROF, &action, NULL);
  const struct itimerval every = {{0, 5000}, {0, 5000}};
  setitimer(ITIMER_PROF, &every, NULL);
  while (atomic_load(&g_ticks) < 20) burn(1);
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_PROF, &never, NULL);
  puts("own profiler ticked");
}

// Calls that fail with EINTR after any handler; this program has none and takes that for a disaster.
static int g_failed;
static void expect(int good, const char* what) {
  if (!good) printf("%s: %s\n", what, strerror(errno)), g_failed = 1;
}
static void not_ready_for_eintr(void) {
  int ends[2];
  if (pipe(ends) != 0) return;
  const int poller = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN};
  epoll_ctl(poller, EPOLL_CTL_ADD, ends[0], &event);
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  for (int i = 0; i < 20000; ++i) {
    struct pollfd wanted = {.fd = ends[0], .events = POLLIN};
    expect(poll(&wanted, 1, 0) == 0, "poll");
    const struct timespec moment = {0, 1};
    if (i % 16 == 0) expect(nanosleep(&moment, NULL) == 0, "nanosleep");
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    struct timeval soon = {0, i % 8 == 0};
    expect(select(ends[0] + 1, &set, NULL, NULL, &soon) == 0, "select");
    expect(epoll_wait(poller, &event, 1, 0) == 0, "epoll_wait");
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec = until.tv_nsec < 999000000 ? until.tv_nsec + 1000 : until.tv_nsec;
    if (i % 16 == 0) expect(sem_timedwait(&semaphore, &until) == -1 && errno == ETIMEDOUT, "sem_timedwait");
  }
  puts(g_failed ? "something failed" : "nothing failed");
}

// An alarm must still end a call that waits for ever.
static void on_alarm(int signal) { (void)signal; }
static void alarms(void) {
  struct sigaction action = {.sa_handler = on_alarm};
  sigaction(SIGALRM, &action, NULL);
  int ended = 0;
  for (int i = 0; i < 200; ++i) {
    const struct itimerval soon = {{0, 500}, {0, 500}}; // again and again: the first may come before we wait
    setitimer(ITIMER_REAL, &soon, NULL);
    if (poll(NULL, 0, 10000) == -1 && errno == EINTR) ++ended;
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    burn(1);
  }
  printf("%d alarms\n", ended);
}

// Every signal that can be blocked is, and every one that can be handled has a handler that ends the program.
static void disaster(int signal) {
  (void)signal;
  static const char text[] = "a signal that nobody sent\n";
  (void)!write(1, text, sizeof text - 1);
  _exit(3);
}
static void all_signals(int block) {
  for (int signal = 1; signal <= 64; ++signal) {
    struct sigaction action = {.sa_handler = disaster};
    sigaction(signal, &action, NULL);
  }
  sigset_t all;
  sigfillset(&all);
  if (block) sigprocmask(SIG_SETMASK, &all, NULL);
  burn(60);
  sigset_t pending;
  sigpending(&pending);
  int count = 0;
  for (int signal = 1; signal <= 64; ++signal) count += sigismember(&pending, signal) == 1;
  printf("%d pending\n", count);
}

// A storm of signals whose handlers allocate and jump out.
static sigjmp_buf g_back;
static void on_storm(int signal) {
  (void)signal;
  free(malloc(100));
  static atomic_int s_count;
  if (atomic_fetch_add(&s_count, 1) % 8 == 7) siglongjmp(g_back, 1);
}
static void storm(void) {
  struct sigaction action = {.sa_handler = on_storm};
  sigaction(SIGUSR1, &action, NULL);
  volatile int rounds = 0;
  sigsetjmp(g_back, 1);
  while (rounds++ < 20000) {
    free(malloc((size_t)rounds));
    raise(SIGUSR1);
  }
  puts("storm over");
}

static void forks(void) {
  int good = 0;
  for (int i = 0; i < 50; ++i) {
    burn(1);
    const pid_t child = fork();
    if (child == 0) _exit(burn(1) == 7 ? 8 : 9);
    int status = 0;
    waitpid(child, &status, 0);
    good += WIFEXITED(status) && WEXITSTATUS(status) == 9;
  }
  printf("%d children\n", good);
}

// Replaces itself so many times, busy all along.
static void execs(char** words, int left) {
  burn(8); // longer than the kernel may need to notice that a timer is due
  if (left == 0) {
    puts("the last one");
    return;
  }
  char text[16];
  snprintf(text, sizeof text, "%d", left - 1);
  char* next[] = {words[0], (char*)"execs", text, NULL};
  execv("/proc/self/exe", next);
}

static void* endless(void* unused) {
  (void)unused;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  for (;;) burn(1);
  return NULL;
}
static void* sleeper(void* unused) {
  (void)unused;
  for (;;) pause();
  return NULL;
}
static void cancels(void) {
  int cancelled = 0;
  for (int i = 0; i < 40; ++i) {
    pthread_t thread;
    void* result = NULL;
    pthread_create(&thread, NULL, i % 2 == 0 ? endless : sleeper, NULL);
    burn(1);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    cancelled += result == PTHREAD_CANCELED;
  }
  burn(20);
  printf("%d cancelled\n", cancelled);
}

static void* short_life(void* unused) {
  burn(1);
  return unused;
}
static void many_threads(int count) {
  for (int i = 0; i < count; i += 50) {
    pthread_t threads[50];
    for (int k = 0; k < 50; ++k) pthread_create(&threads[k], NULL, short_life, NULL);
    for (int k = 0; k < 50; ++k) pthread_join(threads[k], NULL);
  }
  printf("%d threads\n", count);
}

// A filter that forbids all but what ends the program, also to return from a signal handler.
static void sandbox(void) {
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog filter = {sizeof rules / sizeof rules[0], rules};
  burn(30);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
  burn(60);
  (void)!write(1, "done\n", 5);
  _exit(6);
}

int main(int count, char** words) {
  const char* what = count > 1 ? words[1] : "";
  const int number = count > 2 ? atoi(words[2]) : 0;
  if (strcmp(what, "own_profiler") == 0) own_profiler();
  if (strcmp(what, "not_ready_for_eintr") == 0) not_ready_for_eintr();
  if (strcmp(what, "alarms") == 0) alarms();
  if (strcmp(what, "all_blocked") == 0) all_signals(1);
  if (strcmp(what, "all_handled") == 0) all_signals(0);
  if (strcmp(what, "storm") == 0) storm();
  if (strcmp(what, "forks") == 0) forks();
  if (strcmp(what, "execs") == 0) execs(words, number);
  if (strcmp(what, "cancels") == 0) cancels();
  if (strcmp(what, "sandbox") == 0) sandbox();
  if (strcmp(what, "many_threads") == 0) many_threads(number);
  return 0;
}
