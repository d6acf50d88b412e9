// A heap with known leaks, for questions about what memory held: prints "ready" and the addresses of a lost block, of one that only lost blocks lead to, and
// of one at the end of a chain from a variable; then waits for the end of its input.
//   100 blocks of 1,000 bytes that nothing leads to, each with one of 50 bytes that only it leads to
//   10 pairs of blocks of 200 bytes that lead to each other and that nothing else leads to
//   a chain of 5 blocks of 300 bytes that begins in the variable g_chain, each leading to the next at offset 16
//   one block of 400 bytes to whose middle alone a variable points
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

void** g_chain = nullptr;
char* g_middle = nullptr;
std::uintptr_t g_hidden[3]; // not the addresses themselves

namespace {

constexpr std::uintptr_t kMask = 0x5555'5555'5555'5555;

[[gnu::noinline]] void** make(std::size_t bytes) {
  void** block = static_cast<void**>(std::malloc(bytes));
  std::memset(block, 0, bytes);
  return block;
}

[[gnu::noinline]] void leak_with_children() {
  for (int i = 0; i < 100; ++i) {
    void** block = make(1000);
    block[3] = make(50);
    g_hidden[0] = reinterpret_cast<std::uintptr_t>(block) ^ kMask;
    g_hidden[1] = reinterpret_cast<std::uintptr_t>(block[3]) ^ kMask;
  }
}

[[gnu::noinline]] void leak_cycles() {
  for (int i = 0; i < 10; ++i) {
    void** one = make(200);
    void** other = make(200);
    one[0] = other;
    other[5] = one;
  }
}

[[gnu::noinline]] void make_chain() {
  void*** next = &g_chain;
  for (int i = 0; i < 5; ++i) {
    void** block = make(300);
    *next = block;
    next = reinterpret_cast<void***>(&block[2]);
    g_hidden[2] = reinterpret_cast<std::uintptr_t>(block) ^ kMask;
  }
}

// What the calls before have left on the stack and in registers.
[[gnu::noinline]] void wipe() {
  volatile char room[16384];
  for (volatile char& byte : room) byte = 0;
  if (__builtin_cpu_supports("avx")) asm volatile("vzeroall" : : : "memory");
}

} // namespace

int main() {
  leak_with_children();
  leak_cycles();
  make_chain();
  g_middle = reinterpret_cast<char*>(make(400)) + 136;
  wipe();
  std::printf("ready %zx %zx %zx\n", g_hidden[0] ^ kMask, g_hidden[1] ^ kMask, g_hidden[2] ^ kMask);
  std::fflush(stdout);
  wipe();
  while (std::getchar() != EOF) {}
  return 0;
}
