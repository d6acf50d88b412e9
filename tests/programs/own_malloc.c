// Uses a malloc that is not libc's (bump_malloc.c, linked in or as a library) and says how often it was called from here.
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

extern atomic_size_t bump_malloc_calls;

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  const size_t before = atomic_load(&bump_malloc_calls);
  for (int i = 0; i != 1000; ++i) free(malloc(700));
  printf("%zu calls\n", atomic_load(&bump_malloc_calls) - before);
  return 5;
}
