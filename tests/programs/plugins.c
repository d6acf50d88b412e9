// Loads and unloads two libraries in turn; each makes blocks of its own size. Says whether they shared an address.
//
// usage: plugins LIBRARY_A LIBRARY_B ROUNDS
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int rounds = atoi(argv[3]);
  void* last = NULL;
  int same_address = 0;
  for (int i = 0; i != rounds; ++i) {
    void* library = dlopen(argv[1 + i % 2], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return 1;
    void* (*allocate)(void);
    *(void**)&allocate = dlsym(library, "plugin_allocate");
    for (int j = 0; j != 5; ++j) free(allocate());
    same_address += (void*)allocate == last;
    last = (void*)allocate;
    dlclose(library);
  }
  fprintf(stderr, "%d times at the same address\n", same_address);
  return 0;
}
