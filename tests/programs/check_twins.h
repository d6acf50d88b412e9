// What the programs check_twins and check_twins_cpp share. Each runs the cases of its command line one after the other:
//
//   check_twins good|bad CASE... [end=HOW]
//
// A bad case does what a program must not do, its good twin does the same within the rules, up to the last byte. A CASE is words with
// colons between them: over:malloc:24:memset:4:free. In front of it may stand where it runs: thread/, signal/, fork/. For each case one
// line is printed: the case, the address and the size of the block that it is about. What is wrong is done so that the compiler does not
// see it; glibc may end the program for it.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { kMostWords = 6 };
struct twin {
  const char* text; // the whole case
  const char* words[kMostWords];
  bool bad;
};

// A way to get a block of a size, and the matching one to release it.
struct maker {
  const char* name;
  void* (*make)(size_t bytes);
  void (*release)(void* block);
};
extern const struct maker kMakers[]; // each program has its own; ends with an empty one
const struct maker* find_maker(const char* name);

// A way to release a block that need not be the one that matches.
struct releaser {
  const char* name;
  void (*release)(void* block);
};
extern const struct releaser kReleasers[];
const struct releaser* find_releaser(const char* name);

// So that the compiler does not see what is done to a block.
void* hidden(void* pointer);

size_t number_of(const char* word);
void say(const struct twin* twin, const void* block, size_t size);
__attribute__((noreturn)) void refuse(const char* what, const char* word);

// Each runs the case and returns true, or returns false where its first word is none of its own.
bool run_write(const struct twin* twin);      // check_writes.c
bool run_late_write(const struct twin* twin); // check_late_writes.c
bool run_release(const struct twin* twin);    // check_releases.c
bool run_of_program(const struct twin* twin); // check_twins.c, check_twins_cpp.cpp
int run_all(int argc, char** argv);           // check_run.c

// Writes `bytes` bytes at begin + from. Ways that write a whole text start at `begin`.
typedef void (*writer)(char* begin, size_t from, size_t bytes);
writer find_writer(const char* name); // check_writers.c

#ifdef __cplusplus
}
#endif
