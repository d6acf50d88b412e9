// Check points from C++ and from C, with known changes in between. With "threads" eight threads make two hundred each, with "long" there are
// more words than fit.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include <heaptape/heaptape.h>

extern "C" void checkpoint_in_another_file(double t1);

namespace {

struct Entrant {
  int number;
};
std::ostream& operator<<(std::ostream& out, const Entrant& entrant) { return out << "entrant " << entrant.number; }

void one_thread() {
  const auto t1 = std::chrono::steady_clock::now();
  heaptape::checkpoint(t1, "start");
  void* block = std::malloc(1'000'000);
  heaptape::checkpoint(t1, "grown", 42, std::string("anna"), Entrant{7}, 2.5, true);
  void* large = std::malloc(300'000'000);
  checkpoint_in_another_file(heaptape_now());
  std::free(large);
  {
    const heaptape_scope part("part", heaptape::print::yes);
    std::free(std::malloc(5000));
    large = std::malloc(700);
  }
  std::free(block);
  heaptape::checkpoint(t1, "shrunk");
  std::free(large);
}

void eight_threads() {
  std::vector<std::thread> threads;
  for (int number = 0; number < 8; ++number) {
    threads.emplace_back([number] {
      const std::string long_text(200, static_cast<char>('a' + number));
      for (int i = 0; i < 200; ++i) heaptape::checkpoint(heaptape_now(), "thread", number, i, long_text);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void more_than_fits() {
  const std::string text(3000, 'x');
  heaptape::checkpoint(heaptape_now(), "values", text);
  heaptape_checkpoint(heaptape_now(), "label %s", text.c_str());
}

} // namespace

int main(int count, char** words) {
  heaptape_checkpoint_options("no-color");
  if (count > 1 && std::strcmp(words[1], "threads") == 0)
    eight_threads();
  else if (count > 1 && std::strcmp(words[1], "long") == 0)
    more_than_fits();
  else
    one_thread();
  return 0;
}
