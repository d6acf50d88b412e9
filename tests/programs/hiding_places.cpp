// Blocks whose only pointer is hidden, each in another place. Prints a line "PLACE ADDRESS" for each, then "ready", and waits for the end of its input.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

// With external linkage, so that no compiler leaves out what is written to them.
void* g_variable;
thread_local void* t_variable;
pthread_key_t g_key;
std::uintptr_t g_low_tag, g_high_tag, g_shifted;
struct [[gnu::packed]] Packed {
  char head;
  void* pointer;
};
alignas(8) Packed g_packed;
char* g_behind;

struct First {
  virtual ~First() = default;
  long first = 1;
};
struct Second {
  virtual ~Second() = default;
  long second = 2;
};
struct Both : First, Second {};
Second* g_second_base;
struct Element {
  ~Element() {}
  long value = 0;
};
Element* g_array;

namespace {

constexpr std::uintptr_t kMask = 0x5555'5555'5555'5555;
constexpr std::size_t kBytes = 40; // the chunk behind begins 8 bytes after the block's end

struct Place {
  const char* name;
  std::uintptr_t disguised;
};
Place g_places[32];
int g_count = 0;

std::uintptr_t number_of(const void* block) { return reinterpret_cast<std::uintptr_t>(block); }

// Every caller gets a call stack of its own.
[[gnu::noinline]] void* make(const char* place, std::size_t bytes = kBytes) {
  void* const block = std::calloc(1, bytes);
  g_places[g_count++] = {place, number_of(block) ^ kMask};
  return block;
}

// What the calls before have left in registers and on the stack.
[[gnu::noinline]] void wipe() {
  volatile char room[16384];
  for (volatile char& byte : room) byte = 0;
  if (__builtin_cpu_supports("avx")) asm volatile("vzeroall" : : : "memory");
}

[[gnu::noinline]] void hide_in_variables() {
  g_variable = make("variable");
  t_variable = make("thread_local");
  pthread_key_create(&g_key, nullptr);
  pthread_setspecific(g_key, make("thread_key"));
  g_low_tag = number_of(make("low_tag")) | 3;
  g_high_tag = number_of(make("high_tag")) | std::uintptr_t{0xb5} << 56;
  g_shifted = number_of(make("shifted")) >> 4;
  g_packed.pointer = make("packed");
  g_behind = static_cast<char*>(make("behind")) + kBytes;
  Both* const both = new Both;
  g_places[g_count++] = {"second_base", number_of(both) ^ kMask};
  g_second_base = both;
  g_array = new Element[7];
  g_places[g_count++] = {"array_cookie", (number_of(g_array) - sizeof(std::size_t)) ^ kMask};
}

// Mappings, a pipe, freed memory, a module that is gone
[[gnu::noinline]] void hide_elsewhere(const std::string& library) {
  const auto map = [](int flags) {
    return static_cast<void**>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0));
  };
  map(MAP_PRIVATE)[5] = make("private_mapping");
  map(MAP_SHARED)[5] = make("shared_mapping");
  int ends[2];
  void* const piped = make("pipe");
  if (pipe(ends) != 0 || write(ends[1], &piped, sizeof piped) != sizeof piped) std::abort();
  void** const owner = static_cast<void**>(std::malloc(60000));
  owner[7000] = make("freed_memory");
  std::free(owner);
  void* const module = dlopen(library.c_str(), RTLD_NOW);
  if (module == nullptr) std::abort();
  *static_cast<void**>(dlsym(module, "g_hidden")) = make("closed_module");
  dlclose(module);
}

[[gnu::noinline]] void hide_below_the_stack() {
  void* volatile deep[512];
  deep[0] = make("below_the_stack");
  asm volatile("" : : "r"(&deep[0]) : "memory");
}

// Threads that sleep with the pointer in a register only
std::atomic<int> g_sleeping;
void* sleep_with_general_register(void*) {
  void* const block = make("register");
  ++g_sleeping;
  asm volatile("mov %0, %%r15\n xor %0, %0\n 1: mov $34, %%eax\n syscall\n jmp 1b" // pause()
               :
               : "b"(block)
               : "rax", "rcx", "r11", "r15", "memory");
  return nullptr;
}
void* sleep_with_vector_register(void*) {
  void* const block = make("vector_register");
  ++g_sleeping;
  if (__builtin_cpu_supports("avx")) // its upper half
    asm volatile("vmovq %0, %%xmm9\n vinsertf128 $1, %%xmm9, %%ymm9, %%ymm9\n vxorps %%xmm8, %%xmm8, %%xmm8\n"
                 "vinsertf128 $0, %%xmm8, %%ymm9, %%ymm9\n"
                 "xor %0, %0\n 1: mov $34, %%eax\n syscall\n jmp 1b"
                 :
                 : "b"(block)
                 : "rax", "rcx", "r11", "memory");
  asm volatile("movq %0, %%xmm9\n xor %0, %0\n 1: mov $34, %%eax\n syscall\n jmp 1b"
               :
               : "b"(block)
               : "rax", "rcx", "r11", "memory");
  return nullptr;
}

// On the alternate stack of a signal handler, and on the thread's own below it
void handle(int) {
  void* volatile held = make("alternate_stack");
  ++g_sleeping;
  while (held != nullptr) pause();
}
void* sleep_in_handler(void*) {
  void* volatile held = make("stack_below_handler");
  stack_t alternate{};
  alternate.ss_size = 65536;
  alternate.ss_sp = mmap(nullptr, alternate.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  raise(SIGUSR1);
  return held;
}

// Coroutines that have yielded: one on mapped memory, one on a block
ucontext_t g_back, g_mapped_routine, g_block_routine;
void run_on_mapping() {
  void* volatile held = make("coroutine_mapping");
  swapcontext(&g_mapped_routine, &g_back);
  std::free(held);
}
void run_on_block() {
  void* volatile held = make("coroutine_block");
  swapcontext(&g_block_routine, &g_back);
  std::free(held);
}
[[gnu::noinline]] void start_routine(ucontext_t& routine, void* stack, void (*run)()) {
  getcontext(&routine);
  routine.uc_stack.ss_sp = stack;
  routine.uc_stack.ss_size = 65536;
  routine.uc_link = &g_back;
  makecontext(&routine, run, 0);
  swapcontext(&g_back, &routine);
}

[[gnu::noinline]] void start_thread(void* (*run)(void*)) {
  const int before = g_sleeping;
  pthread_t thread;
  pthread_create(&thread, nullptr, run, nullptr);
  while (g_sleeping == before) usleep(100);
}

} // namespace

int main(int, char** arguments) {
  void* volatile stale = nullptr;
  hide_in_variables();
  const std::string program = arguments[0];
  hide_elsewhere(program.substr(0, program.rfind('/')) + "/libhiding_library.so");
  stale = make("stale_local");
  start_routine(g_mapped_routine, mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                run_on_mapping);
  start_routine(g_block_routine, std::malloc(65536), run_on_block);
  start_thread(sleep_with_general_register);
  start_thread(sleep_with_vector_register);
  start_thread(sleep_in_handler);
  wipe();
  hide_below_the_stack();
  for (int i = 0; i < g_count; ++i) std::printf("%s %zx\n", g_places[i].name, g_places[i].disguised ^ kMask);
  std::printf("ready\n");
  std::fflush(stdout);
  asm volatile("" : : "r"(&stale) : "memory");
  while (std::getchar() != EOF) {}
  _exit(0);
}
