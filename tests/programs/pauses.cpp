// Blocks before, in and after pauses, freed on whatever side. With "threads" four threads pass blocks to each other while a fifth pauses
// and resumes. Prints how many blocks it made during its pauses, when only one thread runs.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include <heaptape/heaptape.h>

namespace {

void one_thread() {
  void* before = std::malloc(1000);
  void* freed_inside = std::malloc(2000);
  void* grown_inside = std::malloc(3000);
  void *inside = nullptr, *grown_later = nullptr;
  char* made = nullptr;
  {
    const heaptape::paused outer;
    const heaptape::paused inner; // counted: the end of this one does not resume
    inside = std::malloc(100);
    grown_later = std::malloc(200);
    std::free(freed_inside);
    grown_inside = std::realloc(grown_inside, 300'000);
    std::free(std::malloc(400));
    ::operator delete(::operator new(4));
    made = strdup("text");
    heaptape_mark("marks go on");
  }
  heaptape_resume(); // one too many does no harm
  void* after = std::malloc(10);
  std::free(inside);
  grown_later = std::realloc(grown_later, 500'000);
  std::free(grown_inside);
  std::free(made);
  std::free(after);
  std::free(grown_later);
  std::free(before);
  std::puts("6"); // inside, grown_later, grown_inside, 400, 4, text
}

void several_threads() {
  static std::atomic<void*> slots[64];
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < 4; ++number) {
    threads.emplace_back([number] {
      unsigned random = number + 1;
      for (int step = 0; step < 50'000; ++step) {
        random = random * 1664525 + 1013904223;
        std::atomic<void*>& slot = slots[random >> 26];
        void* block = std::malloc(random >> 16 & 1023);
        if ((step & 7) == 0) block = std::realloc(block, random >> 8 & 2047);
        std::free(slot.exchange(block));
      }
    });
  }
  std::thread pauser([&] {
    while (!done) {
      heaptape_pause();
      std::this_thread::yield();
      heaptape_resume();
      std::this_thread::yield();
    }
  });
  for (std::thread& thread : threads) thread.join();
  done = true;
  pauser.join();
  for (std::atomic<void*>& slot : slots) std::free(slot.load());
}

} // namespace

int main(int count, char** words) {
  if (count > 1 && std::strcmp(words[1], "threads") == 0)
    several_threads();
  else
    one_thread();
  return 0;
}
