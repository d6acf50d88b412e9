// Threads that stand still, each in a function of its own, with something on the heap, on the stack and among their variables. Says where these
// lie, of the first thread and of the last, and ends with the end of its input.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>
#include <semaphore.h>

struct Leaf {
  std::uint64_t number;
  char text[40];
};
struct Tree {
  Leaf* left;
  Leaf* right;
  std::unique_ptr<Tree> more;
};

Tree* g_tree;
std::array<double, 8> g_numbers{1.5, 2.5, 3.5};
thread_local std::array<std::uint64_t, 8> t_places{};

namespace {

sem_t g_standing, g_end;

[[gnu::noinline]] void stand(std::uint64_t depth, double weight) {
  volatile std::uint64_t on_stack[8] = {depth, 0x1111, 0x2222};
  if (depth != 0) {
    stand(depth - 1, weight * 1.5);
  } else {
    sem_post(&g_standing);
    sem_wait(&g_end);
  }
  // After the call, so that it is no jump and the words above are alive.
  g_numbers[7] += weight + static_cast<double>(on_stack[0]);
}

void say(const char* what, const void* where) { std::printf("%s %p\n", what, where); }

} // namespace

int main() {
  sem_init(&g_standing, 0, 0);
  sem_init(&g_end, 0, 0);
  g_tree = new Tree{new Leaf{7, "left"}, new Leaf{8, "right"}, std::make_unique<Tree>()};
  std::vector<std::thread> threads;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    threads.emplace_back([i] {
      pthread_setname_np(pthread_self(), ("stand-" + std::to_string(i)).c_str());
      t_places.fill(i);
      if (i == 3) say("local", t_places.data());
      std::unique_ptr<char[]> own(new char[100]);
      std::memset(own.get(), static_cast<int>(i), 100);
      if (i == 3) say("own", own.get());
      stand(i * 2, 0.25);
    });
  }
  for (int i = 0; i < 3; ++i) sem_wait(&g_standing);
  volatile std::uint64_t on_stack[8] = {0xabcd, 0xef01};
  say("heap", g_tree->left);
  say("global", g_numbers.data());
  say("stack", const_cast<std::uint64_t*>(on_stack));
  std::puts("ready");
  std::fflush(stdout);
  while (std::getchar() != EOF) {}
  for (int i = 0; i < 3; ++i) sem_post(&g_end);
  for (std::thread& thread : threads) thread.join();
  return static_cast<int>(on_stack[1] & 1) - 1;
}
