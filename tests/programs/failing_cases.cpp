// Programs that take the failure of an allocation well, or badly: failing_cases NAME good|bad. Each makes few allocations of its own, of
// 77 bytes where it can choose, and prints nothing.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t kSize = 77;
bool g_good = false;

// What the compiler must not see through.
void use(void* block) { asm volatile("" : : "r"(block) : "memory"); }
int store(char* block) {
  if (block == nullptr && g_good) return 3;
  block[0] = 1;
  use(block);
  free(block);
  return 0;
}

int by_malloc() { return store(static_cast<char*>(malloc(kSize))); }
int by_calloc() { return store(static_cast<char*>(calloc(7, 11))); }
int by_valloc() { return store(static_cast<char*>(valloc(kSize))); }
int by_aligned_alloc() { return store(static_cast<char*>(aligned_alloc(64, kSize))); }
int by_reallocarray() { return store(static_cast<char*>(reallocarray(nullptr, 7, 11))); }
int by_strdup() { return store(strdup("hello")); }

// The old block is lost, and the null pointer written to.
int by_realloc() {
  char* block = static_cast<char*>(malloc(10));
  if (block == nullptr) return 3;
  memset(block, 'x', 10);
  char* larger = static_cast<char*>(realloc(block, kSize));
  if (g_good && larger == nullptr) {
    const bool whole = block[0] == 'x' && block[9] == 'x';
    free(block);
    return whole ? 3 : 4;
  }
  larger[20] = 'y';
  use(larger);
  free(larger);
  return 0;
}

// The error path releases what was released.
int by_error_path() {
  char* first = static_cast<char*>(malloc(20));
  if (first == nullptr) return 3;
  char* second = static_cast<char*>(malloc(kSize));
  if (second == nullptr) {
    if (!g_good) free(first);
    use(first);
  }
  free(second);
  free(first);
  return second == nullptr ? 3 : 0;
}

int by_posix_memalign() {
  void* block = nullptr;
  const int failed = posix_memalign(&block, 64, kSize);
  if (g_good && failed != 0) return 3;
  return store(static_cast<char*>(block));
}

int by_fopen() {
  FILE* file = fopen("/dev/null", "w");
  if (g_good && file == nullptr) return 3;
  setvbuf(file, nullptr, _IONBF, 0);
  fclose(file);
  return 0;
}

int by_getline() {
  char* line = nullptr;
  size_t room = 0;
  static char text[] = "abc\n";
  FILE* file = fmemopen(text, 4, "r");
  if (file == nullptr) return 3;
  const long got = getline(&line, &room, file);
  const int status = got < 0 && g_good ? 3 : store(line);
  fclose(file);
  return status;
}

int by_new() {
  try {
    char* block = new char[kSize];
    use(block);
    delete[] block;
    return 0;
  } catch (const std::bad_alloc&) {
    if (g_good) return 3;
    throw;
  }
}

int by_nothrow_new() {
  char* block = new (std::nothrow) char[kSize];
  if (g_good && block == nullptr) return 3;
  block[0] = 1;
  use(block);
  delete[] block;
  return 0;
}

struct alignas(64) Wide {
  char bytes[kSize];
};
int by_aligned_new() {
  try {
    const std::unique_ptr<Wide> block(new Wide);
    use(block.get());
    return 0;
  } catch (const std::bad_alloc&) {
    if (g_good) return 3;
    throw;
  }
}

// What is made first is released when the second fails.
struct Pair {
  Pair() : first(new char[30]) {
    try {
      second = new char[kSize];
    } catch (...) {
      delete[] first;
      if (!g_good) delete[] first;
      throw;
    }
  }
  ~Pair() {
    delete[] first;
    delete[] second;
  }
  char *first, *second = nullptr;
};
int in_constructor() {
  try {
    const Pair pair;
    use(pair.first);
    return 0;
  } catch (const std::bad_alloc&) {
    return 3;
  }
}

int in_thread() {
  int status = 0;
  try {
    std::thread thread([&status] { status = by_malloc(); });
    thread.join();
  } catch (const std::exception&) {
    return 3;
  }
  return status;
}

int g_status = 0;
int compare(const void* a, const void* b) {
  if (g_status == 0) g_status = by_malloc();
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}
int in_callback() {
  int numbers[] = {3, 1};
  qsort(numbers, 2, sizeof numbers[0], compare);
  return g_status;
}

// The handler frees memory, and the allocation succeeds after all; or it does not know what to do.
char* g_reserve = nullptr;
int g_handled = 0;
void give_up_reserve() {
  ++g_handled;
  free(g_reserve);
  g_reserve = nullptr;
  if (!g_good) abort();
  std::set_new_handler(nullptr);
}
int by_new_handler() {
  g_reserve = static_cast<char*>(malloc(10));
  std::set_new_handler(give_up_reserve);
  try {
    char* block = new char[kSize];
    use(block);
    delete[] block;
  } catch (const std::bad_alloc&) {
    return 4;
  }
  free(g_reserve);
  return g_handled != 0 ? 3 : 0;
}

int in_container() {
  try {
    std::vector<std::string> words;
    words.emplace_back(kSize, 'w');
    use(words.data());
    return 0;
  } catch (const std::bad_alloc&) {
    if (g_good) return 3;
    throw;
  }
}

// Never ends without memory, where it should give up.
int by_loop() {
  for (int tries = 0; tries < 3 || !g_good; ++tries) {
    static char* kept = nullptr;
    if (tries == 0) kept = static_cast<char*>(malloc(kSize));
    if (kept != nullptr) {
      free(kept);
      return 0;
    }
  }
  return 3;
}

struct Case {
  const char* name;
  int (*run)();
};
constexpr Case kCases[] = {
    {"malloc", by_malloc},
    {"calloc", by_calloc},
    {"valloc", by_valloc},
    {"aligned_alloc", by_aligned_alloc},
    {"reallocarray", by_reallocarray},
    {"strdup", by_strdup},
    {"realloc", by_realloc},
    {"error_path", by_error_path},
    {"posix_memalign", by_posix_memalign},
    {"fopen", by_fopen},
    {"getline", by_getline},
    {"new", by_new},
    {"nothrow_new", by_nothrow_new},
    {"aligned_new", by_aligned_new},
    {"constructor", in_constructor},
    {"thread", in_thread},
    {"callback", in_callback},
    {"new_handler", by_new_handler},
    {"container", in_container},
    {"loop", by_loop},
};

} // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  g_good = strcmp(words[2], "good") == 0;
  for (const Case& one : kCases) {
    if (strcmp(one.name, words[1]) == 0) return one.run();
  }
  return 2;
}
