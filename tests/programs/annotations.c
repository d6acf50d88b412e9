/* Everything that a program can say about itself, in a known order; some of it in a constructor, in a signal handler, in a child. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <heaptape/heaptape.h>

__attribute__((constructor)) static void before_main(void) { heaptape_text("in a constructor"); }

static void handler(int number) {
  heaptape_integer("signal", number);
  heaptape_textf("in the handler of %s", "a signal");
}

static void* named_thread(void* name) {
  heaptape_thread_name((const char*)name);
  free(malloc(77));
  return 0;
}

int main(void) {
  char longest[HEAPTAPE_LONGEST_TEXT + 1000];
  double unused = 2.5;
  void* block = malloc(1000);
  pthread_t thread;
  int status = 0;
  struct heaptape_figures figures;
  heaptape_thread_name("the first thread");
  heaptape_number("ratio", unused);
  heaptape_integer("largest", 9223372036854775807LL);
  memset(longest, 'x', sizeof longest - 1);
  longest[sizeof longest - 1] = '\0';
  heaptape_text(longest);
  heaptape_textf("%d of %s", 3, "three");
  signal(SIGUSR1, handler);
  raise(SIGUSR1);
  heaptape_scope_begin("outer");
  void* second = malloc(2000);
  heaptape_scope_begin("inner");
  free(second);
  heaptape_scope_end("inner");
  heaptape_scope_end("outer");
  pthread_create(&thread, 0, named_thread, (void*)"a thread with a name longer than the kernel's");
  pthread_join(thread, 0);
  const pid_t child = fork();
  if (child == 0) {
    heaptape_text("in a child");
    heaptape_pause();
    heaptape_resume();
    _exit(heaptape_heap(&figures) ? 3 : 0);
  }
  if (waitpid(child, &status, 0) != child || status != 0) return 1;
  if (heaptape_heap(&figures)) heaptape_integer("live according to heaptape_heap", (long long)figures.live_bytes);
  heaptape_mark("the end");
  heaptape_text(NULL);
  free(block);
  return 0;
}
