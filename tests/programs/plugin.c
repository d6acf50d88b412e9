// Built twice with another SIZE, as two libraries of the same shape that the loader puts at the same address in turn.
#include <stdlib.h>

void* plugin_allocate(void) {
  void* volatile block = malloc(PLUGIN_SIZE);
  return block;
}
