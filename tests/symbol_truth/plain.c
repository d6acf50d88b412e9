/* C: static functions, inlined calls, a nested function (a GNU extension), a loop that the compiler splits. */
#include <stdio.h>
#include <stdlib.h>

static inline int twice(int number) { return number * 2 + (number >> 3); }

static __attribute__((noinline)) int make_block(int size) {
  char* block = malloc((size_t)size);
  int sum = 0;
  for (int i = 0; i < size; ++i) {
    block[i] = (char)twice(i);
    sum += block[i];
  }
  free(block);
  return sum;
}

__attribute__((noinline)) int with_nested(int depth) {
#ifndef __clang__
  __attribute__((noinline)) int nested(int extra) { return make_block(depth + extra); }
  return nested(3) + twice(depth);
#else
  return make_block(depth + 3) + twice(depth);
#endif
}

__attribute__((noinline, cold)) void give_up(const char* why) {
  fprintf(stderr, "%s\n", why);
  exit(1);
}

int main(int count, char** arguments) {
  (void)arguments;
  if (count > 100) give_up("too many arguments");
  return with_nested(count + 10) == 0;
}
