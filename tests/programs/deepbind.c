// Opens a library with RTLD_DEEPBIND and gives blocks to it and takes blocks from it. With "lazy", its functions are found as they are called.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  const int lazy = argc > 2 && strcmp(argv[2], "lazy") == 0;
  void* library = dlopen(argv[1], (lazy ? RTLD_LAZY : RTLD_NOW) | RTLD_DEEPBIND);
  if (library == NULL) return puts(dlerror()), 1;
  void* (*make)(size_t) = (void* (*)(size_t))dlsym(library, "plugin_make");
  void (*drop)(void*) = (void (*)(void*))dlsym(library, "plugin_drop");
  void* (*grow)(void*, size_t) = (void* (*)(void*, size_t))dlsym(library, "plugin_grow");
  for (int i = 0; i < 50; ++i) {
    free(make(3001));             // theirs, freed here
    drop(malloc(3002));           // ours, freed there
    drop(grow(make(3003), 3004)); // theirs throughout
  }
  printf("%d\n", dlclose(library));
  return 0;
}
