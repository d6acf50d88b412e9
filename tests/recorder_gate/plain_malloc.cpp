// The recorder has no heap of its own.
// refused: imports malloc,
#include <cstdlib>

namespace gate_sample {
void* grow(std::size_t size) { return std::malloc(size); }
} // namespace gate_sample
