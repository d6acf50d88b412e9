// A recursion without end that allocates on its way.
#include <stdlib.h>

static void* volatile g_last;

__attribute__((noinline)) static int descend(int level) {
  g_last = malloc(16);
  return descend(level + 1) + (g_last != NULL);
}

int main(void) { return descend(0); }
