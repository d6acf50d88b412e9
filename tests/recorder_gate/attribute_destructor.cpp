// The same, written for the linker.
// refused: runs code at exit: .* in \.fini_array
namespace gate_sample {
volatile int g_value = 1;
__attribute__((destructor, used)) static void at_exit() { g_value = 0; }
} // namespace gate_sample
