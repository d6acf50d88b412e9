// A hostile program: finds the memory that it shares with the collector and fills a part of it. Ends at once, or goes on allocating first.
//
// usage: scribble OFFSET BYTES VALUE [BLOCKS]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
  memset(memory + offset, atoi(argv[3]), bytes);
  for (long i = argc > 4 ? atol(argv[4]) : 0; i > 0; --i) {
    block = malloc(100);
    free(block);
  }
  _Exit(0); // without another event: the slot of this thread may be no more
}
