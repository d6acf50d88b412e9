// Calls every allocation function from several threads and counts each call, after it returned, in a shared file that
// survives any death of the process. All counted calls are made from the section "counted", whose bounds are in the file.
//
// usage: count_calls COUNTERS ENDING THREADS ROUNDS
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

extern "C" {
// Only there when the recorder (or a newer libc) is loaded.
void free_sized(void* block, std::size_t size) __attribute__((weak));
void free_aligned_sized(void* block, std::size_t alignment, std::size_t size) __attribute__((weak));
// No header declares it any more, and only old binaries are meant to link to it.
void old_cfree(void* block);
__asm__(".symver old_cfree, cfree@GLIBC_2.2.5");

extern const char __start_counted[];
extern const char __stop_counted[];
}

namespace {

// The same order as KINDS in tests/e2e/counting.py.
enum Kind {
  Malloc,
  Calloc,
  Realloc,
  Free,
  Memalign,
  PosixMemalign,
  AlignedAlloc,
  Valloc,
  Pvalloc,
  ReallocArray,
  FreeSized,
  FreeAlignedSized,
  Cfree,
  New,
  NewArray,
  Delete,
  DeleteArray,
  KindCount
};

struct Slot {
  std::uint64_t tid;
  volatile std::uint64_t calls[31];
};
static_assert(sizeof(Slot) == 256 && KindCount <= 31);

struct Counters {
  std::uint64_t counted_start;
  std::uint64_t counted_stop;
  volatile std::uint64_t quiet; // 1 once every thread has done its rounds
  std::uint64_t unused[29];
  Slot slots[64];
};

Counters* counters;
std::string_view ending;
unsigned thread_count;
unsigned rounds;
pthread_t main_thread;
pthread_barrier_t all_done;
pthread_barrier_t main_gone;

#define COUNTED __attribute__((section("counted"), noinline))
// The call first, then the count: a kill in between leaves one event more than was counted.
#define COUNT(kind, ...)                                                                                               \
  __VA_ARGS__;                                                                                                         \
  slot.calls[kind] = slot.calls[kind] + 1

COUNTED void c_functions(Slot& slot, std::size_t size) {
  COUNT(Malloc, void* a = malloc(size));
  COUNT(Calloc, void* b = calloc(size, 3));
  COUNT(Realloc, a = realloc(a, size * 4));
  COUNT(ReallocArray, b = reallocarray(b, size, 7));
  COUNT(Realloc, void* c = realloc(nullptr, size));
  COUNT(Memalign, void* d = memalign(64, size));
  void* e = nullptr;
  COUNT(PosixMemalign, if (posix_memalign(&e, 128, size) != 0) abort());
  COUNT(AlignedAlloc, void* f = aligned_alloc(32, size * 32));
  COUNT(Free, free(a));
  COUNT(Free, free(b));
  COUNT(Cfree, old_cfree(c));
  COUNT(Free, free(d));
  COUNT(Free, free(e));
  if (free_aligned_sized != nullptr) {
    COUNT(FreeAlignedSized, free_aligned_sized(f, 32, size * 32));
    COUNT(Malloc, void* g = malloc(size));
    COUNT(FreeSized, free_sized(g, size));
  } else {
    COUNT(Free, free(f));
  }
}

COUNTED void page_functions(Slot& slot, std::size_t size) {
  COUNT(Valloc, void* a = valloc(size));
  COUNT(Pvalloc, void* b = pvalloc(size));
  COUNT(Free, free(a));
  COUNT(Free, free(b));
}

COUNTED void string_functions(Slot& slot) {
  COUNT(Malloc, char* a = strdup("a string to copy"));
  COUNT(Malloc, char* b = strndup("a string to cut off", 8));
  COUNT(Free, free(a));
  COUNT(Free, free(b));
}

COUNTED void cpp_functions(Slot& slot, std::size_t size) {
  constexpr std::align_val_t wide{64};
  COUNT(New, void* a = ::operator new(size));
  COUNT(NewArray, void* b = ::operator new[](size));
  COUNT(New, void* c = ::operator new(size, std::nothrow));
  COUNT(NewArray, void* d = ::operator new[](size, std::nothrow));
  COUNT(New, void* e = ::operator new(size, wide));
  COUNT(NewArray, void* f = ::operator new[](size, wide));
  COUNT(New, void* g = ::operator new(size, wide, std::nothrow));
  COUNT(NewArray, void* h = ::operator new[](size, wide, std::nothrow));
  COUNT(New, void* i = ::operator new(size));
  COUNT(NewArray, void* j = ::operator new[](size));
  COUNT(New, void* k = ::operator new(size, wide));
  COUNT(NewArray, void* l = ::operator new[](size, wide));
  COUNT(Delete, ::operator delete(a));
  COUNT(DeleteArray, ::operator delete[](b));
  COUNT(Delete, ::operator delete(c, std::nothrow));
  COUNT(DeleteArray, ::operator delete[](d, std::nothrow));
  COUNT(Delete, ::operator delete(e, wide));
  COUNT(DeleteArray, ::operator delete[](f, wide));
  COUNT(Delete, ::operator delete(g, wide, std::nothrow));
  COUNT(DeleteArray, ::operator delete[](h, wide, std::nothrow));
  COUNT(Delete, ::operator delete(i, size));
  COUNT(DeleteArray, ::operator delete[](j, size));
  COUNT(Delete, ::operator delete(k, size, wide));
  COUNT(DeleteArray, ::operator delete[](l, size, wide));
}

COUNTED void one_round(Slot& slot, unsigned round) {
  const std::size_t size = 1 + round * 37 % 700;
  c_functions(slot, size);
  if (round % 16 == 0) page_functions(slot, size);
  string_functions(slot);
  cpp_functions(slot, size);
}

void work(unsigned index) {
  Slot& slot = counters->slots[index];
  slot.tid = static_cast<std::uint64_t>(gettid());
  for (unsigned round = 0; round != rounds; ++round) one_round(slot, round);
}

void end_the_process() {
  if (ending.starts_with("_exit")) _exit(3);
  if (ending.starts_with("exit")) exit(3);
  if (ending.starts_with("abort")) abort();
  if (ending.starts_with("segv")) *static_cast<volatile int*>(nullptr) = 1;
  if (ending.starts_with("kill")) kill(getpid(), SIGKILL);
  if (ending.starts_with("quick_exit")) quick_exit(3);
}

// Endings: NAME ends the process while the other threads stand still, NAME-running while they allocate,
// exit-in-thread from another thread than main, and "run" not at all.
void* thread(void* argument) {
  const unsigned index = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(argument));
  if (ending == "pthread_exit") {
    if (index == 1) pthread_join(main_thread, nullptr);
    pthread_barrier_wait(&main_gone);
  }
  work(index);
  if (ending == "return" || ending == "pthread_exit") return nullptr;
  if (ending.ends_with("-running") || ending == "run")
    for (;;) work(index);
  pthread_barrier_wait(&all_done);
  if (ending == "exit-in-thread" && index == 1) end_the_process();
  for (;;) pause();
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const int file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0 || ftruncate(file, sizeof(Counters)) != 0) return 2;
  void* memory = mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return 2;
  counters = static_cast<Counters*>(memory);
  counters->counted_start = reinterpret_cast<std::uint64_t>(__start_counted);
  counters->counted_stop = reinterpret_cast<std::uint64_t>(__stop_counted);
  ending = argv[2];
  thread_count = static_cast<unsigned>(atoi(argv[3]));
  rounds = static_cast<unsigned>(atoi(argv[4]));
  main_thread = pthread_self();
  pthread_barrier_init(&all_done, nullptr, thread_count + 1);
  pthread_barrier_init(&main_gone, nullptr, thread_count);

  pthread_t threads[63];
  for (unsigned i = 0; i != thread_count; ++i)
    pthread_create(&threads[i], nullptr, thread, reinterpret_cast<void*>(std::uintptr_t{i} + 1));
  work(0);
  if (ending == "pthread_exit") pthread_exit(nullptr);
  if (ending == "return") {
    for (unsigned i = 0; i != thread_count; ++i) pthread_join(threads[i], nullptr);
    return 3;
  }
  if (ending == "run")
    for (;;) work(0);
  if (!ending.ends_with("-running")) {
    pthread_barrier_wait(&all_done);
    counters->quiet = 1;
    if (ending == "exit-in-thread")
      for (;;) pause();
  }
  end_the_process();
  return 4;
}
