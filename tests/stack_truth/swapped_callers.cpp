// The counter-example that random stress does not find. Two callers, each with a large alloca, take turns to call the same
// function with a variable-length array, sized so that every return address of the inner frames lies at the same place both
// times; only RBP, saved by a leaf in between, tells which caller it was. An unwinder that compares the remembered return
// addresses but not the saved RBP reports the wrong caller every second time.
#include <alloca.h>
#include <cstdio>
#include <cstdlib>

#define NOINLINE __attribute__((noinline))

namespace {

constexpr int kCalls = 20000;
void* g_blocks[kCalls];
int g_count = 0;

NOINLINE void leaf(long value) {
  long kept = value;
  asm volatile("" : "+r"(kept) : : "rbp", "rbx"); // makes it save RBP
  g_blocks[g_count++] =
      std::malloc(16); // one call from one place, so that the last capture is the one to be mistaken for
  asm volatile("" : : "r"(kept));
}

NOINLINE long middle(long bytes) {
  char array[bytes];
  asm volatile("" : : "r"(array) : "memory");
  leaf(bytes);
  asm volatile("" : : "r"(array) : "memory");
  return 1;
}

NOINLINE long first(long own, long bytes) {
  char* block = static_cast<char*>(alloca(static_cast<unsigned long>(own)));
  asm volatile("" : : "r"(block) : "memory");
  const long result = middle(bytes);
  asm volatile("" : : "r"(block) : "memory");
  return result + 1;
}

NOINLINE long second(long own, long bytes) {
  char* block = static_cast<char*>(alloca(static_cast<unsigned long>(own)));
  asm volatile("" : : "r"(block) : "memory");
  const long result = middle(bytes);
  asm volatile("" : : "r"(block) : "memory");
  return result + 2;
}

} // namespace

int main() {
  // One call instruction for both callers, or its return address would tell them apart.
  long (*volatile callers[2])(long, long) = {first, second};
  const volatile long own[2] = {8192 - 512, 8192 + 512};
  const volatile long bytes[2] = {8192 + 512, 8192 - 512};
  long sum = 0;
  for (int i = 0; i < kCalls; ++i) sum += callers[i % 2](own[i % 2], bytes[i % 2]);
  for (void* block : g_blocks) std::free(block);
  std::printf("%ld\n", sum);
}
