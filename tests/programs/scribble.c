// A hostile program: finds the memory that it shares with the collector and fills a part of it. Ends at once, or goes on allocating first,
// in two more threads as well.
//
// usage: scribble OFFSET BYTES VALUE [BLOCKS]
// VALUE rSEED: not BYTES in a row but that many random ones, anywhere in the MiB from OFFSET on.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long blocks = 0;

static void* allocate(void* unused) {
  for (long i = 0; i < blocks; ++i) {
    void* volatile block = malloc(100);
    free(block);
  }
  return unused;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const size_t offset = strtoul(argv[1], NULL, 0), bytes = strtoul(argv[2], NULL, 0);
  void* volatile block = malloc(100);
  free(block);
  FILE* maps = fopen("/proc/self/maps", "r");
  if (maps == NULL) return 1;
  char line[4096];
  char* memory = NULL;
  while (memory == NULL && fgets(line, sizeof line, maps) != NULL) {
    unsigned long start = 0, end = 0, at = 1;
    if (strstr(line, "memfd:heaptape") == NULL) continue;
    if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &at) == 3 && at == 0 && offset + bytes <= end - start)
      memory = (char*)start;
  }
  fclose(maps);
  if (memory == NULL) return 1;
  puts("scribbling");
  fflush(stdout);
  if (argv[3][0] == 'r') {
    srand((unsigned)atoi(argv[3] + 1));
    for (size_t i = 0; i < bytes; ++i) memory[offset + (size_t)rand() % (1 << 20)] = (char)rand();
  } else {
    memset(memory + offset, atoi(argv[3]), bytes);
  }
  blocks = argc > 4 ? atol(argv[4]) : 0;
  if (blocks > 0) {
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i)
      if (pthread_create(&threads[i], NULL, allocate, NULL) != 0) return 1;
    allocate(NULL);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  }
  _Exit(0); // without another event: the slot of this thread may be no more
}
