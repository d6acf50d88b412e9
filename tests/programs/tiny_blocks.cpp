// The smallest blocks that there are: lists of blocks of 8 bytes, each of which holds the address of the next. Some allocators put them 8 bytes apart. One
// list of 1,000 hangs on a variable, one of 100 is lost. Prints "ready" and waits for the end of its input.
#include <unistd.h>

#include <cstdlib>

struct Link {
  Link* next;
};
static_assert(sizeof(Link) == 8);

Link* g_list; // with external linkage, so that no compiler leaves it out

namespace {

[[gnu::noinline]] Link* make_list(int count) {
  Link* first = nullptr;
  for (int i = 0; i < count; ++i) {
    auto* const link = static_cast<Link*>(std::malloc(sizeof(Link)));
    link->next = first;
    first = link;
  }
  asm volatile("" : "+r"(first) : : "memory"); // writing to what is lost counts
  return first;
}

// What the calls before have left on the stack and in registers.
[[gnu::noinline]] void wipe() {
  volatile char room[16384];
  for (volatile char& byte : room) byte = 0;
  if (__builtin_cpu_supports("avx")) asm volatile("vzeroall" : : : "memory");
}

} // namespace

int main() {
  g_list = make_list(1000);
  (void)make_list(100);
  wipe();
  if (write(1, "ready\n", 6) != 6) return 1;
  char byte;
  while (read(0, &byte, 1) > 0) {}
  return 0;
}
