// .at() throws, and nothing inside the program may throw from malloc because of us.
// refused: imports \S*__throw_out_of_range
#include <array>
#include <cstddef>

namespace gate_sample {
int pick(const std::array<int, 4>& values, std::size_t index) { return values.at(index); }
} // namespace gate_sample
