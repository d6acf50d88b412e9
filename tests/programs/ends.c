// Ends as told: with a status, or by a signal it sends itself. Makes ten blocks of 50 bytes before.
//
// usage: ends status|signal NUMBER
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  for (int i = 0; i != 10; ++i) {
    void* volatile block = malloc(50);
    free(block);
  }
  const int number = atoi(argv[2]);
  if (strcmp(argv[1], "status") == 0) return number;
  signal(number, SIG_DFL);
  kill(getpid(), number);
  for (;;) pause();
}
