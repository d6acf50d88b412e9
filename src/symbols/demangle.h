// Linkage names as people write them. C++, Rust (legacy and v0) and D are distinguished by prefix; any other or
// incomplete name is returned as it is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heaptape {

enum class NameForm : std::uint8_t {
  Short,   // std::vector<…>::push_back: no parameters, no return type, no template arguments, no clone suffixes
  Full,    // std::vector<int, std::allocator<int> >::push_back(int const&)
  Mangled, // _ZNSt6vectorIiSaIiEE9push_backERKi
};

std::string demangle(std::string_view linkage_name, NameForm form);

// The short form of a name that is demangled already.
std::string short_name(std::string_view demangled);
// The same of a type: std::map<int, std::string>. Its arguments are kept unless they are very long.
std::string short_type(std::string_view demangled);

} // namespace heaptape
