// By operator new, 1000 blocks of 701 bytes, by new[] 500 of 70,002, and by malloc 250 of 703; all but seven of each are given back.
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

} // namespace

int main() {
  make_and_drop(
      1000, [] { return (new Object)->bytes; }, [](char* block) { delete reinterpret_cast<Object*>(block); });
  make_and_drop(
      500, [] { return new char[70'002]; }, [](char* block) { delete[] block; });
  make_and_drop(
      250, [] { return static_cast<char*>(std::malloc(703)); }, [](char* block) { std::free(block); });
  return 4;
}
