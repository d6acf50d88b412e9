// Does one thing with a block of 64 bytes, and says so before: the name of a case on the command line.
//   good          reads and writes the block from its first to its last byte
//   read-behind, write-behind, read-before, write-before    one byte beside it
//   read-freed, write-freed                                  one byte of it after its release
//   slack         writes the byte behind a block of 60 bytes
//   leak          loses ten blocks of 100 bytes
//   asked         writes the byte behind it, asks for a look at all blocks, and prints how many errors there were before and after
//   late          writes the byte behind a block of 5,000 bytes, and then does what many does
//   many          makes and releases 20,000 blocks of many sizes, of which 2,000 live at a time
#include <heaptape/check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static volatile char* make(size_t size) { return malloc(size); }
__attribute__((noinline)) static int read_byte(volatile char* at) { return *at; }
__attribute__((noinline)) static void write_byte(volatile char* at) { *at = 7; }
__attribute__((noinline)) static void release(volatile char* block) { free((void*)block); }

static void make_many(void) {
  enum { kLive = 2000, kAll = 20000 };
  static volatile char* blocks[kLive];
  for (unsigned i = 0; i < kAll; ++i) {
    const size_t size = 1 + i * 37 % 3000;
    release(blocks[i % kLive]);
    blocks[i % kLive] = make(size);
    memset((void*)blocks[i % kLive], 1, size);
  }
  for (unsigned i = 0; i < kLive; ++i) release(blocks[i]);
}

static void ask(volatile char* behind) {
  const long before = heaptape_check();
  write_byte(behind);
  printf("%ld %ld\n", before, heaptape_check());
}

int main(int count, char** words) {
  const char* const what = count > 1 ? words[1] : "good";
  const size_t size = strcmp(what, "slack") == 0 ? 60 : strcmp(what, "late") == 0 ? 5000 : 64;
  volatile char* const block = make(size);
  printf("%s\n", what);
  fflush(stdout);
  for (size_t i = 0; i < size; ++i) write_byte(block + i);
  int seen = read_byte(block) + read_byte(block + size - 1);
  if (strcmp(what, "read-behind") == 0) seen += read_byte(block + size);
  if (strcmp(what, "write-behind") == 0 || strcmp(what, "slack") == 0) write_byte(block + size);
  if (strcmp(what, "read-before") == 0) seen += read_byte(block - 1);
  if (strcmp(what, "write-before") == 0) write_byte(block - 1);
  if (strcmp(what, "leak") == 0)
    for (int i = 0; i < 10; ++i) write_byte(make(100));
  if (strcmp(what, "asked") == 0) ask(block + size);
  if (strcmp(what, "late") == 0) write_byte(block + size);
  if (strcmp(what, "many") == 0 || strcmp(what, "late") == 0) make_many();
  release(block);
  if (strcmp(what, "read-freed") == 0) seen += read_byte(block + 5);
  if (strcmp(what, "write-freed") == 0) write_byte(block + 5);
  return seen == 14 ? 0 : 1;
}
