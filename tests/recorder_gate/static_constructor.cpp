// Runs before the program's first malloc only by luck: another library's constructor may come earlier.
// refused: runs code at load: .* in \.init_array
namespace gate_sample {
struct Counter {
  explicit Counter(volatile int* where) : value(*where) {}
  int value;
};
volatile int g_start = 7;
Counter g_counter(&g_start);
int read_counter() { return g_counter.value; }
} // namespace gate_sample
