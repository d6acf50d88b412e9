// One allocation would stand on the tape twice.
// refused: calls its own export calloc;
#include <cstddef>

namespace gate_sample {
extern char* g_next;
char* g_next = nullptr;
} // namespace gate_sample

extern "C" {
__attribute__((visibility("default"))) void* malloc(std::size_t size) {
  char* const block = gate_sample::g_next;
  gate_sample::g_next += size;
  return block;
}
__attribute__((visibility("default"), noinline)) void* calloc(std::size_t count, std::size_t size) {
  return malloc(count * size);
}
__attribute__((visibility("default"))) void* zeroed_array(std::size_t count, std::size_t size) {
  return calloc(count, size);
}
}
