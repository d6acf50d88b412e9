// Makes mappings of known sizes and prints their addresses, one per line, in the order of the calls that succeeded.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kPage = 4096 };

static void say(const char* kind, void* address, size_t size, void* old) {
  printf("%s %lx %zu %lx\n", kind, (unsigned long)address, size, (unsigned long)old);
}

int main(int argc, char** argv) {
  (void)argc;
  setvbuf(stdout, NULL, _IOFBF, 1 << 16);
  char* block = mmap(NULL, 1000 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  say("mmap", block, 1000 * kPage, NULL);
  block[5] = 'x';

  munmap(block + 900 * kPage, 100 * kPage);
  say("munmap", block + 900 * kPage, 100 * kPage, NULL);
  char* moved = mremap(block, 900 * kPage, 5000 * kPage, MREMAP_MAYMOVE);
  say("mremap", moved, 5000 * kPage, block);
  if (moved[5] != 'x') return 1;
  char* smaller = mremap(moved, 5000 * kPage, 3 * kPage, 0);
  say("mremap", smaller, 3 * kPage, moved);
  munmap(smaller, 3 * kPage);
  say("munmap", smaller, 3 * kPage, NULL);

  const int file = open(argv[0], O_RDONLY | O_CLOEXEC);
  void* view = mmap(NULL, 2 * kPage, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  say("mmap-file", view, 2 * kPage, NULL);
  void* fixed = mmap(view, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  say("mmap", fixed, kPage, NULL);
  munmap(view, 2 * kPage);
  say("munmap", view, 2 * kPage, NULL);

  // None of these succeeds, so none is an event.
  if (mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) return 2;
  if (mmap(NULL, kPage, PROT_READ, MAP_PRIVATE, -1, 0) != MAP_FAILED) return 3;
  if (munmap((char*)1, kPage) == 0) return 4;
  if (mremap((void*)kPage, kPage, 2 * kPage, MREMAP_MAYMOVE) != MAP_FAILED) return 5;
  return 0;
}
