// Makes blocks of 4321 bytes in innermost(), called by middle() and outermost(): frames a reader can look for.
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) void* innermost(int value) {
  void* volatile block = malloc(4321);
  if (value == 1000) puts("never");
  return block;
}

__attribute__((noinline)) int middle(int value) {
  void* block = innermost(value + 1);
  const int result = block != NULL ? value + 1 : value;
  free(block);
  return result;
}

__attribute__((noinline)) int outermost(int value) {
  int sum = 0;
  for (int i = 0; i != 10; ++i) sum += middle(value + i);
  return sum;
}

int main(void) {
  printf("%d\n", outermost(3));
  return 0;
}
