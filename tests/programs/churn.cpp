// A hot loop that makes vectors and strings anew, and forgets some blocks: 2,000 vectors of 600 numbers that grow ten times each, 2,000
// buffers that grow by realloc, 20,000 records of which every tenth is never freed.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

struct Record {
  int fields[4];
};
Record* volatile g_record; // keeps the compiler from leaving new and delete out

[[gnu::noinline]] int fill(int count) {
  std::vector<int> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(i);
  return numbers.back();
}

[[gnu::noinline]] char enlarge(int steps) {
  char* buffer = nullptr;
  for (int i = 0; i < steps; ++i) buffer = static_cast<char*>(std::realloc(buffer, std::size_t{16} << i));
  buffer[0] = 'x';
  const char first = buffer[0];
  std::free(buffer);
  return first;
}

[[gnu::noinline]] void keep_some(int number) {
  g_record = new Record{{number, 0, 0, 0}};
  if (number % 10 != 0) delete g_record;
}

} // namespace

int main() {
  long sum = 0;
  for (int i = 0; i < 2000; ++i) sum += fill(600) + enlarge(6);
  for (int i = 0; i < 20000; ++i) keep_some(i);
  std::printf("%ld\n", sum);
}
