// By operator new, 1000 blocks of 701 bytes, by new[] 500 of 70,002, and by malloc 250 of 703; all but seven of each are given back.
// A forked child, which is not recorded unless it is followed, does the like.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace {

constexpr int kKept = 7;

template <class Make, class Drop>
void make_and_drop(int count, Make make, Drop drop) {
  for (int i = 0; i != count; ++i) {
    char* volatile block = make();
    *block = 'x';
    if (i >= kKept) drop(block);
  }
}

struct Object {
  char bytes[701];
};

void use_everything(int count) {
  make_and_drop(
      4 * count, [] { return (new Object)->bytes; }, [](char* block) { delete reinterpret_cast<Object*>(block); });
  make_and_drop(
      2 * count, [] { return new char[70'002]; }, [](char* block) { delete[] block; });
  make_and_drop(
      count, [] { return static_cast<char*>(std::malloc(703)); }, [](char* block) { std::free(block); });
}

} // namespace

int main() {
  use_everything(250);
  const pid_t child = fork();
  if (child == 0) {
    use_everything(20);
    _exit(4);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
