// Other threads still free blocks after exit() has destroyed our state.
// refused: imports __cxa_atexit
namespace gate_sample {
struct Counter {
  constexpr Counter() = default;
  ~Counter() { value = -1; }
  volatile int value = 0;
};
constinit Counter g_counter;
int read_counter() { return g_counter.value; }
} // namespace gate_sample
