// Allocates in the main flow and in a signal handler that a fast timer runs at any moment, also inside malloc; linked with
// bump_malloc.c, whose malloc allows that. Prints how many blocks of 300 (main flow) and 400 bytes (handler) were made.
//
// usage: signal_handlers plain|altstack|longjmp|profiling
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static volatile int in_main;
static volatile int in_handler;
static volatile int jumps;
static volatile int jump_allowed;
static sigjmp_buf target;
static int jumping;

static void handler(int signal_number) {
  (void)signal_number;
  void* volatile block = malloc(400);
  free(block);
  in_handler = in_handler + 1;
  if (jumping && jump_allowed) {
    jumps = jumps + 1;
    // Or the next signal jumps inside this jump, and the one after it inside that, until the stack is full.
    jump_allowed = 0;
    siglongjmp(target, 1);
  }
}

static void set_timer(int which, int interval_us) {
  const struct itimerval timer = {{0, interval_us}, {0, interval_us}};
  setitimer(which, &timer, NULL);
}

__attribute__((noinline)) static void make_blocks(int depth) {
  void* volatile block = malloc(300);
  in_main = in_main + 1;
  if (depth != 0) make_blocks(depth - 1);
  free(block);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  jumping = strcmp(argv[1], "longjmp") == 0;
  const int profiling = strcmp(argv[1], "profiling") == 0;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  if (strcmp(argv[1], "altstack") == 0) {
    static char alternate[256 * 1024];
    const stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigaltstack(&stack, NULL);
    action.sa_flags = SA_ONSTACK;
  }
  sigaction(profiling ? SIGPROF : SIGALRM, &action, NULL);
  set_timer(profiling ? ITIMER_PROF : ITIMER_REAL, profiling ? 1000 : 100);

  // Until the handler ran often enough; the blocks bound the loop on a machine that delivers few signals.
  const int wanted = profiling ? 50 : 1000;
  while (in_handler < wanted && in_main < 1000000) {
    if (sigsetjmp(target, 1) == 0) {
      jump_allowed = 1;
      make_blocks(20);
    }
    jump_allowed = 0;
  }
  set_timer(profiling ? ITIMER_PROF : ITIMER_REAL, 0);
  printf("%d %d %d\n", in_main, in_handler, jumps);
  return 0;
}
