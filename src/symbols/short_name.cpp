#include "symbols/demangle.h"

namespace heaptape {

std::string short_name(std::string_view demangled) { return std::string(demangled); }

} // namespace heaptape
