// Calls make_block() through code that it makes at run time, and names that code as JIT compilers do.
//   generated_code frame_pointer | trampoline | lies          what the code is like; names in /tmp/perf-PID.map
//   generated_code replaced map | dump                        other code at the same address, named in either kind of file
// "replaced map" reads a line from its input before the second code is made. The files stay.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef void (*Callback)(int size);
typedef void (*Code)(Callback callback, int size, uint64_t rbp);

__attribute__((noinline)) void make_block(int size) {
  void* volatile block = malloc((size_t)size);
  free(block);
}

__attribute__((noinline)) void run_code(Code code, int size, uint64_t rbp) {
  code(make_block, size, rbp);
  __asm__ volatile("" ::: "memory"); // not a tail call
}

// Each swaps its arguments, so that the callback gets the size first: mov rax, rdi; mov edi, esi.
#define CALL_BACK 0x48, 0x89, 0xf8, 0x89, 0xf7, 0xff, 0xd0
// push rbp; mov rbp, rsp; sub rsp, 32; ...; nop; leave; ret
static const uint8_t kFramePointer[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, CALL_BACK, 0x90, 0xc9, 0xc3};
// sub rsp, 8; ...; add rsp, 8; ret
static const uint8_t kTrampoline[] = {0x48, 0x83, 0xec, 0x08, CALL_BACK, 0x48, 0x83, 0xc4, 0x08, 0xc3};
// push rbp; mov rbp, rdx; ...; nop; pop rbp; ret
static const uint8_t kLies[] = {0x55, 0x48, 0x89, 0xd5, CALL_BACK, 0x90, 0x5d, 0xc3};

static FILE* g_map;
static FILE* g_dump;

static void put32(uint32_t number) { fwrite(&number, sizeof number, 1, g_dump); }
static void put64(uint64_t number) { fwrite(&number, sizeof number, 1, g_dump); }

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void start_dump(void) {
  char name[64];
  snprintf(name, sizeof name, "jit-%d.dump", (int)getpid());
  g_dump = fopen(name, "w+");
  const uint32_t head[] = {0x4A695444, 1, 40, 62, 0, (uint32_t)getpid()};
  fwrite(head, sizeof head, 1, g_dump);
  put64(now_ns());
  put64(0);
}

static void name_code(const void* code, size_t size, const char* name) {
  if (g_map != NULL) {
    fprintf(g_map, "%lx %zx %s\n", (unsigned long)(uintptr_t)code, size, name);
    fflush(g_map);
  }
  if (g_dump == NULL) return;
  // Lines: the first byte is of line 10, all from the fourth on of line 11.
  const char* file = "/src/made_up.js";
  put32(2);
  put32((uint32_t)(16 + 16 + 2 * 16 + strlen(file) + 1 + 2));
  put64(now_ns());
  put64((uint64_t)(uintptr_t)code);
  put64(2);
  for (int i = 0; i != 2; ++i) {
    put64((uint64_t)(uintptr_t)code + (i == 0 ? 0 : 4));
    put32(i == 0 ? 10 : 11);
    put32(0);
    fputs(i == 0 ? file : "\xff", g_dump);
    fputc(0, g_dump);
  }
  static uint64_t s_index;
  put32(0);
  put32((uint32_t)(16 + 40 + strlen(name) + 1 + size));
  put64(now_ns());
  put32((uint32_t)getpid());
  put32((uint32_t)getpid());
  put64((uint64_t)(uintptr_t)code);
  put64((uint64_t)(uintptr_t)code);
  put64(size);
  put64(s_index++);
  fwrite(name, strlen(name) + 1, 1, g_dump);
  fwrite(code, size, 1, g_dump);
  fflush(g_dump);
}

static Code make_code(void* at, const uint8_t* bytes, size_t size, int sealed, const char* name) {
  void* page = mmap(at, 4096, PROT_READ | PROT_WRITE | (sealed ? 0 : PROT_EXEC),
                    MAP_PRIVATE | MAP_ANONYMOUS | (at != NULL ? MAP_FIXED : 0), -1, 0);
  if (page == MAP_FAILED) exit(1);
  memcpy(page, bytes, size);
  if (sealed && mprotect(page, 4096, PROT_READ | PROT_EXEC) != 0) exit(1);
  name_code(page, size, name);
  Code code;
  memcpy(&code, &page, sizeof code);
  return code;
}

__attribute__((noinline)) static void lie(Code code) {
  // On the stack: a word that is not code, and the address of a function, which nobody returns to.
  volatile uint64_t words[8] = {0};
  for (int i = 0; i != 8; ++i) words[i] = 1234567;
  words[5] = (uint64_t)(uintptr_t)&make_block + 4;
  const uint64_t here = (uint64_t)(uintptr_t)words;
  const uint64_t lies[] = {
      1, 8, 4096, here + 1, here, here + 4 * 8, here - (1 << 20), 0x7fffffffe000, ~UINT64_C(7), here + (1 << 26)};
  for (size_t i = 0; i != sizeof lies / sizeof lies[0]; ++i) run_code(code, 6000 + (int)i, lies[i]);
  printf("%zu lies\n", sizeof lies / sizeof lies[0]);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const int to_dump = argc > 2 && strcmp(argv[2], "dump") == 0;
  char map_name[64];
  snprintf(map_name, sizeof map_name, "/tmp/perf-%d.map", (int)getpid());
  if (to_dump) {
    start_dump();
  } else {
    g_map = fopen(map_name, "w");
  }
  if (strcmp(what, "frame_pointer") == 0) {
    const Code code = make_code(NULL, kFramePointer, sizeof kFramePointer, 0, "py::with_frame_pointer:/src/job.py");
    for (int i = 0; i != 20; ++i) run_code(code, 5000 + i, 0);
  } else if (strcmp(what, "trampoline") == 0) {
    const Code code = make_code(NULL, kTrampoline, sizeof kTrampoline, 1, "LazyCompile:*trampoline /src/x.js:12:5");
    for (int i = 0; i != 20; ++i) run_code(code, 5000 + i, 0);
  } else if (strcmp(what, "lies") == 0) {
    lie(make_code(NULL, kLies, sizeof kLies, 0, "liar"));
  } else if (strcmp(what, "replaced") == 0) {
    Code code = make_code(NULL, kTrampoline, sizeof kTrampoline, 1, "first code");
    char line[64] = "";
    void* at;
    memcpy(&at, &code, sizeof at);
    for (int turn = 0; turn != 2; ++turn) { // from the same place, so that nothing but the time tells them apart
      for (int i = 0; i != 20; ++i) run_code(code, 5001 + turn, 0);
      if (turn != 0) break;
      if (!to_dump) {
        puts("ready");
        fflush(stdout);
        if (fgets(line, sizeof line, stdin) == NULL) return 1;
      }
      munmap(at, 4096);
      code = make_code(at, kTrampoline, sizeof kTrampoline, 1, "second code");
    }
  } else {
    return 2;
  }
  if (g_map != NULL) fclose(g_map);
  if (g_dump != NULL) fclose(g_dump);
  return 0;
}
