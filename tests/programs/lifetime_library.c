// The shared library of lifetime.cpp: its constructor runs before the executable's, its destructor after.
#include <stdlib.h>

static void one_block(size_t size) {
  void* volatile block = malloc(size);
  free(block);
}

__attribute__((constructor)) static void constructor(void) { one_block(1003); }
__attribute__((destructor)) static void destructor(void) { one_block(1013); }

void lifetime_library_needed(void) {}
