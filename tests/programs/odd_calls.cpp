// Calls that an allocator cannot do what was meant with, one sort per run: what glibc ends the program for, what it lets pass, and calls that
// get no memory. Prints the addresses that it uses.
#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

static const std::size_t kTooMuch = std::size_t{1} << 46;
static const std::size_t kHalf = SIZE_MAX / 2;

// So that the compiler does not see what is done to it.
template <class T>
[[gnu::noinline]] T* hidden(T* pointer) {
  asm volatile("" : "+r"(pointer));
  return pointer;
}

static void say(const char* what, const void* address) {
  std::printf("%s %#lx\n", what, reinterpret_cast<unsigned long>(address));
  std::fflush(stdout);
}

static char g_static[64];

[[gnu::noinline]] static void free_stack() {
  char buffer[64];
  say("stack", buffer + 16);
  std::free(hidden(buffer + 16));
}
[[gnu::noinline]] static void free_static() {
  say("static", g_static + 16);
  std::free(hidden(g_static + 16));
}
[[gnu::noinline]] static void free_inside() {
  char* block = static_cast<char*>(std::malloc(200));
  say("inside", block + 16);
  std::free(hidden(block + 16));
}
[[gnu::noinline]] static void free_twice() {
  char* block = static_cast<char*>(std::malloc(200));
  say("twice", block);
  std::free(block);
  std::free(hidden(block));
}
[[gnu::noinline]] static void grow_freed() {
  char* block = static_cast<char*>(std::malloc(200));
  say("freed", block);
  std::free(block);
  block = static_cast<char*>(std::realloc(hidden(block), 5000));
  std::free(block);
}

[[gnu::noinline]] static void mismatch() {
  std::free(hidden(new char[11]));                                             // new[] and free
  std::free(hidden(new char[12]));                                             // again
  ::operator delete(hidden(static_cast<char*>(std::malloc(13))));              // malloc and delete
  std::free(hidden(::operator new(14)));                                       // new and free
  ::operator delete[](hidden(static_cast<char*>(::operator new(15))));         // new and delete[]
  ::operator delete(hidden(static_cast<char*>(::operator new[](16))));         // new[] and delete
  std::free(std::realloc(hidden(static_cast<char*>(::operator new(17))), 18)); // new and realloc
}
[[gnu::noinline]] static void match() {
  for (std::size_t size = 0; size < 40; ++size) {
    ::operator delete(::operator new(size));
    ::operator delete(::operator new(size), size);
    ::operator delete[](::operator new[](size));
    ::operator delete[](::operator new[](size, std::nothrow), std::nothrow);
    ::operator delete(::operator new(size, std::align_val_t(64)), size, std::align_val_t(64));
    std::free(std::realloc(std::calloc(1, size), size + 100));
    std::free(std::aligned_alloc(64, 64));
    delete[] hidden(new char[size + 1]);
  }
}
[[gnu::noinline]] static void wrong_size() {
  ::operator delete (hidden(static_cast<char*>(::operator new(40))), std::size_t{24});
}

[[gnu::noinline]] static void failed() {
  char* block = static_cast<char*>(std::malloc(100));
  say("kept", block);
  if (std::malloc(hidden(&kTooMuch)[0]) != nullptr) std::puts("malloc gave it");
  if (errno != ENOMEM) std::puts("errno is another");
  if (std::calloc(hidden(&kHalf)[0], 4) != nullptr) std::puts("calloc gave it");
  if (std::realloc(block, kTooMuch + 1) != nullptr) std::puts("realloc gave it");
  void* aligned = nullptr;
  if (::posix_memalign(&aligned, 3, 77) != EINVAL) std::puts("posix_memalign gave it");
  try {
    hidden(::operator new(kTooMuch + 2));
    std::puts("new gave it");
  } catch (const std::bad_alloc&) {}
  try {
    hidden(::operator new[](kTooMuch + 3));
    std::puts("new[] gave it");
  } catch (const std::bad_alloc&) {}
  if (::operator new(kTooMuch + 4, std::nothrow) != nullptr) std::puts("nothrow new gave it");
  if (::mmap(nullptr, std::size_t{1} << 48, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
    std::puts("mmap gave it");
  std::free(block);
}

// Where the stack ends a page, and where it does not: 100 calls inside each other that get no memory.
[[gnu::noinline]] static void fail_down(int left) {
  char room[64];
  asm volatile("" : : "r"(room) : "memory");
  try {
    hidden(::operator new[](kTooMuch + static_cast<std::size_t>(left)));
    std::puts("new[] gave it");
  } catch (const std::bad_alloc&) {}
  if (left > 1) fail_down(left - 1);
  asm volatile("" : : "r"(room) : "memory");
}
static void fail_at_all_depths() { fail_down(100); }

// A new-handler that makes room: the block that comes then is operator new's.
[[gnu::noinline]] static void handler() {
  static rlimit s_before;
  ::getrlimit(RLIMIT_DATA, &s_before);
  unsigned long data_kb = 0;
  char line[256];
  std::FILE* status = std::fopen("/proc/self/status", "r");
  while (status != nullptr && std::fgets(line, sizeof line, status) != nullptr)
    std::sscanf(line, "VmData: %lu", &data_kb);
  if (status != nullptr) std::fclose(status);
  rlimit less = s_before;
  less.rlim_cur = (data_kb << 10) + (std::size_t{64} << 20);
  ::setrlimit(RLIMIT_DATA, &less);
  std::set_new_handler([] {
    std::puts("handled");
    ::setrlimit(RLIMIT_DATA, &s_before);
  });
  ::operator delete(hidden(::operator new (std::size_t{6} << 30)));
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const struct {
    const char* name;
    void (*run)();
  } runs[] = {{"stack", free_stack}, {"static", free_static},       {"inside", free_inside},
              {"twice", free_twice}, {"realloc", grow_freed},       {"mismatch", mismatch},
              {"match", match},      {"size", wrong_size},          {"failed", failed},
              {"handler", handler},  {"depths", fail_at_all_depths}};
  for (const auto& run : runs) {
    if (std::strcmp(run.name, what) == 0) return run.run(), 0;
  }
  return 2;
}
