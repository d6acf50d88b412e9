// Uses wrapped_alloc_library in one of several ways and prints how often and how much.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef BY_DLOPEN
static void* (*wrapped_user)(int);
#else
void* wrapped_alloc(size_t size);
void* wrapped_array(const void* unused, size_t count, size_t size);
void wrapped_free(const void* unused, void* block);
void* wrapped_resize(void* block, size_t size);
void* wrapped_odd(int a, double b, long c, float d, short e, long f, long g, double h, long i, long j, int size);
void* wrapped_list(size_t size, ...);
double wrapped_number(double x);
void* wrapped_outer(size_t size);
void* wrapped_outer_resize(void* block, size_t size);
void wrapped_outer_free(void* block);
#endif

#ifdef BY_DLOPEN
int main(int argc, char** argv) {
  (void)argc;
  char path[4096];
  snprintf(path, sizeof path, "%.*s/libwrapped_user.so", (int)(strrchr(argv[0], '/') - argv[0]), argv[0]);
  for (int round = 0; round < 2; ++round) {
    void* library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) return puts(dlerror()), 1;
    *(void**)&wrapped_user = dlsym(library, "wrapped_user");
    for (int i = 0; i < 10; ++i) wrapped_user(100);
    dlclose(library);
  }
  return puts("20 blocks of 100"), 0;
}
#else
static void* work(void* unused) {
  for (int i = 0; i < 1000; ++i) wrapped_free(unused, wrapped_alloc(32));
  return NULL;
}

static int nested(void) {
  for (int i = 0; i < 10; ++i) wrapped_outer_free(wrapped_outer_resize(wrapped_outer(10), 4000));
  for (int i = 0; i < 3; ++i) wrapped_outer(20);
  wrapped_alloc(30);
  return puts("nested"), 0;
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "nested") == 0) return nested();
  void* (*volatile by_pointer)(size_t) = wrapped_alloc;
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 10; ++i) wrapped_alloc(100);
  by_pointer(100);
  wrapped_free(NULL, wrapped_array(NULL, 20, 30));
  void* grown = wrapped_resize(wrapped_alloc(8), 5000);
  wrapped_free(NULL, grown);
  if (wrapped_odd(1, 2.5, 3, 4.5f, 5, 6, 7, 8.5, 9, 10, 64) == NULL) return puts("odd"), 1;
  if (wrapped_list(72, 1.5, 7) == NULL) return puts("list"), 1;
  if (wrapped_number(1.25) != 2.5) return puts("number"), 1;
  wrapped_free(NULL, strdup("from elsewhere"));
  return puts("fine"), 0;
}
#endif
