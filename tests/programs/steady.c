// Allocates at a steady pace from two threads: says "ready", goes on until the file STOP exists (or COUNT blocks were
// made), then prints a sum that depends on every block's content and ends with status 8.
//
// usage: steady STOP COUNT [PAUSE_US]
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char* stop_file;
static long limit;
static unsigned pause_us;

struct result {
  long blocks;
  long wrong;
};

static void* work(void* argument) {
  struct result* result = argument;
  unsigned char* kept[64] = {0};
  for (long i = 0; i != limit; ++i) {
    const size_t size = 20 + (size_t)(i * 7919 % 500);
    unsigned char** slot = &kept[i % 64];
    if (*slot != NULL && ((*slot)[0] != (unsigned char)(i - 64) || (*slot)[19] != (unsigned char)(i - 64)))
      ++result->wrong;
    free(*slot);
    *slot = malloc(size);
    memset(*slot, (unsigned char)i, 20);
    ++result->blocks;
    if (pause_us != 0) usleep(pause_us);
    if (i % 512 == 0 && access(stop_file, F_OK) == 0) break;
  }
  for (int i = 0; i != 64; ++i) free(kept[i]);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  stop_file = argv[1];
  limit = atol(argv[2]);
  if (argc > 3) pause_us = (unsigned)atoi(argv[3]);
  struct result results[2] = {{0, 0}, {0, 0}};
  pthread_t other;
  pthread_create(&other, NULL, work, &results[1]);
  printf("ready\n");
  fflush(stdout);
  work(&results[0]);
  pthread_join(other, NULL);
  fprintf(stderr, "%ld blocks\n", results[0].blocks + results[1].blocks);
  printf("%ld wrong\n", results[0].wrong + results[1].wrong);
  return 8;
}
