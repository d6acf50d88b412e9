// Writes over malloc's own memory in some way, or not: heap_damage WAY. Says "ready" and the addresses that matter, waits for the end of its
// input, and ends without touching its heap again.
//
//   whole      blocks of many sizes, freed in part                     threads    the same in four threads with arenas of their own
//   overrun    eight bytes too many: the next header                   far        the same in a thread's arena
//   cache      a freed block is written to, in a thread's cache        bin        in a bin
//   twice      the cache is led round in a circle                      abort      an overrun, and free() finds it
//   nul        one byte too many, the zero behind a text
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kThreads = 4, kBlocks = 600 };

static void* kept[kThreads + 1][kBlocks];
static pthread_barrier_t all_done, all_over;

// Not to be seen through by the compiler.
__attribute__((noinline)) static void write_at(char* volatile place, size_t bytes, char what) {
  for (size_t i = 0; i < bytes; ++i) place[i] = what;
}

__attribute__((noinline)) static char* make_name(size_t bytes) { return malloc(bytes); }
__attribute__((noinline)) static char* make_neighbour(size_t bytes) { return calloc(1, bytes); }
__attribute__((noinline)) static void give_back(void* block) { free(block); }

static void ready(const void* first, const void* second) {
  char line[80];
  const int length = snprintf(line, sizeof line, "ready %#lx %#lx\n", (unsigned long)(uintptr_t)first,
                              (unsigned long)(uintptr_t)second);
  if (write(STDOUT_FILENO, line, (size_t)length) != length) _exit(2);
}

static void fill(void* blocks[kBlocks]) {
  for (int i = 0; i < kBlocks; ++i) {
    blocks[i] = malloc((size_t)(i * 37 % 3000) + 1);
    memset(blocks[i], 1, 1);
  }
  for (int i = 0; i < kBlocks; i += 3) {
    free(blocks[i]);
    blocks[i] = NULL;
  }
}

// Two blocks side by side: what was freed before is too small for them.
static void overrun(char** name, char** neighbour, size_t neighbour_bytes) {
  *name = make_name(5000);
  *neighbour = make_neighbour(neighbour_bytes);
  if (*name + 5008 != *neighbour) _exit(3);
}

struct part {
  int number;
  int is_damaged;
  char *name, *neighbour;
};

static void* work(void* argument) {
  struct part* const part = argument;
  fill(kept[part->number]);
  if (part->is_damaged) {
    overrun(&part->name, &part->neighbour, 5000);
    write_at(part->name + 5000, 8, 'T');
  }
  pthread_barrier_wait(&all_done);
  pthread_barrier_wait(&all_over); // the threads and their caches are there when the memory is copied
  return NULL;
}

static void threads(int is_damaged) {
  static struct part parts[kThreads];
  pthread_barrier_init(&all_done, NULL, kThreads + 1);
  pthread_barrier_init(&all_over, NULL, kThreads + 1);
  for (int i = 0; i < kThreads; ++i) {
    pthread_t thread;
    parts[i].number = i + 1;
    parts[i].is_damaged = is_damaged && i == 2;
    if (pthread_create(&thread, NULL, work, &parts[i]) != 0) _exit(2);
  }
  pthread_barrier_wait(&all_done);
  ready(parts[2].name, parts[2].neighbour);
}

int main(int argc, char** argv) {
  const char* const way = argc > 1 ? argv[1] : "";
  char *name = NULL, *neighbour = NULL;
  fill(kept[0]);
  if (strcmp(way, "overrun") == 0 || strcmp(way, "abort") == 0) {
    overrun(&name, &neighbour, 5000);
    write_at(name + 5000, 8, 'A');
  } else if (strcmp(way, "nul") == 0) {
    overrun(&name, &neighbour, 0x1400 - 8); // whose header is 0x1401
    write_at(name + 5000, 1, 0);
  } else if (strcmp(way, "cache") == 0 || strcmp(way, "twice") == 0) {
    name = make_name(1000);
    neighbour = make_neighbour(1000);
    give_back(neighbour);
    give_back(name);
    if (*way == 'c')
      write_at(name, 8, 'C');
    else
      memcpy(neighbour, &(uintptr_t){(uintptr_t)neighbour >> 12 ^ (uintptr_t)name}, sizeof(uintptr_t));
  } else if (strcmp(way, "bin") == 0) {
    overrun(&name, &neighbour, 5000);
    give_back(name);
    write_at(name + 8, 8, 'B');
  } else if (strcmp(way, "far") == 0 || strcmp(way, "threads") == 0) {
    threads(*way == 'f');
    name = neighbour = NULL;
  }
  if (strcmp(way, "abort") == 0) {
    give_back(neighbour);
    return 4; // free() let it pass
  }
  if (strcmp(way, "far") != 0 && strcmp(way, "threads") != 0) ready(name, neighbour);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  _exit(0);
}
