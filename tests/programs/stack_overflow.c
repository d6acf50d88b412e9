// A recursion without end that allocates on its way.
#include <stdlib.h>

static void* volatile g_last;

__attribute__((noinline)) static int descend(int level) {
  volatile char room[100];
  room[0] = 1;
  g_last = malloc(16);
  return descend(level + 1) + room[0] + (g_last != NULL);
}

int main(void) { return descend(0); }
