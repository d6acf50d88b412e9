/* Everything that has a name gets one that a terminal would obey: a function, a thread, a mark, a text, a pool, a mapping. The
 * characters are ESC, the byte 9b alone, U+009B, and U+202E, which turns the writing direction. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <heaptape/heaptape.h>
#include <heaptape/pool.h>

#define ODD                                                                                                            \
  "\x1b[31m\x9b"                                                                                                       \
  "31m\xc2\x9b"                                                                                                        \
  "31m\xe2\x80\xae"

void odd_function(void) __asm__("odd\xe2\x80\xae"
                                "function\xc2\x9b");
__attribute__((noinline)) void odd_function(void) {
  if (malloc(12345) == NULL) abort();
}

static void* run(void* unused) {
  prctl(PR_SET_NAME, "t" ODD);
  odd_function();
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, NULL);
  pthread_join(thread, NULL);
  heaptape_snapshot("mark" ODD);
  heaptape_text("text" ODD);
  const int fd = memfd_create("file" ODD, 0);
  if (fd < 0 || ftruncate(fd, 4096) != 0) return 1;
  if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED) return 1;
  static char memory[4096];
  heaptape_alloc("pool" ODD, memory, 64);
  free(malloc(1));
  return 0;
}
