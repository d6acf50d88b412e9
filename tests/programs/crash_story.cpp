// A small server with a bug: it keeps a pointer to a session that another thread has closed. Writes to the file named by its first
// argument where everything lies, one "name 0xaddress" per line, and then, when the second argument is "crash", dies of that pointer.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "heaptape/heaptape.h"

struct Session {
  int id;
  char user[44];
  void (*on_close)(Session*);
};

int g_table[16];
static Session* g_kept; // the bug

__attribute__((noinline)) Session* open_session(int id) {
  auto* session = static_cast<Session*>(malloc(sizeof(Session)));
  memset(session, 0, sizeof *session);
  session->id = id;
  return session;
}

__attribute__((noinline)) void close_session(Session* session) { free(session); }

__attribute__((noinline)) void* reap(void* session) {
  close_session(static_cast<Session*>(session));
  return nullptr;
}

__attribute__((noinline)) char* write_report(size_t size) {
  auto* report = static_cast<char*>(malloc(size));
  memset(report, 'r', size);
  return report;
}

int main(int argc, char** argv) {
  int local = 0;
  FILE* facts = argc > 1 ? fopen(argv[1], "w") : nullptr;
  if (facts == nullptr) return 2;
  const auto tell = [&](const char* name, const void* address) { fprintf(facts, "%s %p\n", name, address); };

  Session* first = open_session(1);
  Session* second = open_session(2);
  g_kept = second;
  heaptape_mark("sessions open");

  void* small = malloc(40);
  void* between = malloc(3000); // small cannot grow where it is
  const auto small_was = reinterpret_cast<uintptr_t>(small);
  void* large = realloc(small, 9000);
  void* mapping = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  const auto second_was = reinterpret_cast<uintptr_t>(second);
  pthread_t reaper;
  pthread_create(&reaper, nullptr, reap, second);
  pthread_join(reaper, nullptr);
  heaptape_mark("reaped");

  char* report = write_report(100);
  tell("first", first);
  tell("second", reinterpret_cast<void*>(second_was));
  tell("small", reinterpret_cast<void*>(small_was));
  tell("between", between);
  tell("large", large);
  tell("mapping", mapping);
  tell("report", report);
  tell("table", &g_table[3]);
  tell("local", &local);
  tell("function", reinterpret_cast<void*>(&open_session));
  fclose(facts);

  usleep(100000); // so that also a busy collector sees the address space
  if (argc > 2 && strcmp(argv[2], "crash") == 0) {
    memset(static_cast<void*>(&g_kept->on_close), 0xdd,
           sizeof g_kept->on_close); // as a debug heap would have done at free
    g_kept->on_close(g_kept);
  }
  return 0;
}
