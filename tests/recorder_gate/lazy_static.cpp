// A static inside a function is guarded by a lock that may allocate or dead-lock in a signal handler.
// refused: imports __cxa_guard_acquire
namespace gate_sample {
int first_value(int seed);
int lazy(int seed) {
  static const int value = first_value(seed);
  return value;
}
int first_value(int seed) { return seed + 1; }
} // namespace gate_sample
