// A std::string that outgrows its small buffer takes memory from operator new.
// refused: imports (_Znwm |_ZNSt7__cxx1112basic_string\S*(_M_create|_M_append))
#include <cstddef>
#include <string>

namespace gate_sample {
std::size_t path_size(const char* folder) {
  return (std::string(folder) + "/a name that does not fit into the small buffer").size();
}
} // namespace gate_sample
