// The ways in which the cases of check_twins write.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "check_twins.h"

#define NOINLINE __attribute__((noinline))

enum { kMostText = 6 << 20 };
static char text_of_letters[kMostText + 1];

// A text of so many letters, and its zero.
static const char* letters(size_t count) {
  static size_t filled;
  if (count > kMostText) refuse("too many letters", "");
  if (filled < count) {
    memset(text_of_letters, 'A', count);
    filled = count;
  }
  return text_of_letters + (filled - count);
}

NOINLINE static void write_store(char* begin, size_t from, size_t bytes) {
  char* volatile place = begin + from;
  struct unaligned {
    uint16_t two;
  } __attribute__((packed));
  struct unaligned4 {
    uint32_t four;
  } __attribute__((packed));
  struct unaligned8 {
    uint64_t eight;
  } __attribute__((packed));
  switch (bytes) {
  case 1: *(volatile char*)place = 'A'; return;
  case 2: ((volatile struct unaligned*)place)->two = 0x4141; return;
  case 3:
    ((volatile struct unaligned*)place)->two = 0x4141;
    *(volatile char*)(place + 2) = 'A';
    return;
  case 4: ((volatile struct unaligned4*)place)->four = 0x41414141; return;
  case 8: ((volatile struct unaligned8*)place)->eight = 0x4141414141414141; return;
  case 16: {
    const __int128 value = (__int128)0x4141414141414141 << 64 | 0x4141414141414141;
    __builtin_memcpy(place, &value, sizeof value); // one instruction
    return;
  }
  default: refuse("no store has this many bytes", "");
  }
}

NOINLINE static void write_loop(char* begin, size_t from, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) ((volatile char*)begin)[from + i] = 'A';
}

// As a loop whose limit is one too far: all from the begin on.
NOINLINE static void write_fill(char* begin, size_t from, size_t bytes) {
  for (size_t i = 0; i < from + bytes; ++i) ((volatile char*)begin)[i] = 'A';
}

// From the end to the begin.
NOINLINE static void write_backward(char* begin, size_t from, size_t bytes) {
  for (size_t i = bytes; i-- > 0;) ((volatile char*)begin)[from + i] = 'A';
}

NOINLINE static void write_memset(char* begin, size_t from, size_t bytes) { memset(begin, 'A', from + bytes); }
NOINLINE static void write_memcpy(char* begin, size_t from, size_t bytes) {
  memcpy(begin + from, letters(bytes), bytes);
}
NOINLINE static void write_memmove(char* begin, size_t from, size_t bytes) {
  memmove(begin, letters(from + bytes), from + bytes);
}
NOINLINE static void write_strcpy(char* begin, size_t from, size_t bytes) { strcpy(begin, letters(from + bytes - 1)); }
NOINLINE static void write_strncpy(char* begin, size_t from, size_t bytes) { strncpy(begin, "short", from + bytes); }

NOINLINE static void write_strcat(char* begin, size_t from, size_t bytes) {
  const size_t half = from / 2;
  strcpy(begin, letters(half));
  strcat(begin, letters(from + bytes - 1 - half));
}

NOINLINE static void write_sprintf(char* begin, size_t from, size_t bytes) {
  sprintf(begin, "%s", letters(from + bytes - 1));
}

NOINLINE static void write_wide(char* begin, size_t from, size_t bytes) {
  wmemset((wchar_t*)(void*)(begin + from), L'A', bytes / sizeof(wchar_t));
}

// The kernel writes.
NOINLINE static void write_read(char* begin, size_t from, size_t bytes) {
  int ends[2];
  if (pipe(ends) != 0) refuse("no pipe", "");
  if (write(ends[1], letters(bytes), bytes) != (ssize_t)bytes) refuse("a pipe takes less", "");
  if (read(ends[0], begin + from, bytes) != (ssize_t)bytes) refuse("a pipe gives less", "");
  close(ends[0]);
  close(ends[1]);
}

// A member in the middle of a struct that does not fit in any more.
struct member {
  char before[8];
  char what[8];
};
NOINLINE static void write_member(char* begin, size_t from, size_t bytes) {
  struct member* const last = (struct member*)(void*)(begin + from - offsetof(struct member, what));
  for (size_t i = 0; i < bytes && i < sizeof last->what; ++i) ((volatile char*)last->what)[i] = 'A';
}

// An array of structs of 40 bytes, of which only the first member is written; `bytes` is how many of them there are from `from` on.
struct element {
  int number;
  char rest[36];
};
NOINLINE static void write_stride(char* begin, size_t from, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    const int number = 0x41414141;
    memcpy(begin + from + i * sizeof(struct element), &number, sizeof number);
  }
}

writer find_writer(const char* name) {
  static const struct {
    const char* name;
    writer write;
  } kWriters[] = {{"store", write_store},       {"loop", write_loop},       {"fill", write_fill},
                  {"backward", write_backward}, {"memset", write_memset},   {"memcpy", write_memcpy},
                  {"memmove", write_memmove},   {"strcpy", write_strcpy},   {"strncpy", write_strncpy},
                  {"strcat", write_strcat},     {"sprintf", write_sprintf}, {"wide", write_wide},
                  {"read", write_read},         {"member", write_member},   {"stride", write_stride}};
  for (size_t i = 0; i < sizeof kWriters / sizeof kWriters[0]; ++i) {
    if (strcmp(kWriters[i].name, name) == 0) return kWriters[i].write;
  }
  refuse("no way to write", name);
}
