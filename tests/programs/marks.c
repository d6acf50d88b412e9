/* Three blocks with marks and snapshots between them; one of the marks in a signal handler, one in a constructor. With an
 * argument it deletes itself first. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <heaptape/heaptape.h>

__attribute__((constructor)) static void before_main(void) { heaptape_mark("in a constructor"); }

static void handler(int number) {
  (void)number;
  heaptape_mark("in a handler");
}

int main(int count, char** words) {
  if (count > 1 && unlink(words[0]) != 0) return 1;
  void* first = malloc(1000);
  heaptape_snapshot("one block");
  void* second = malloc(2000);
  void* third = malloc(4000);
  heaptape_snapshot("three blocks");
  signal(SIGUSR1, handler);
  raise(SIGUSR1);
  free(second);
  heaptape_snapshot("second gone");
  heaptape_mark("a name that is much longer than the twelve bytes which fit into one record, \xc3\xa4 and more");
  heaptape_mark(NULL);
  free(first);
  free(third);
  return 0;
}
