// Demangled names taken apart. Any text may come; what makes no sense as a name gives something short.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace heaptape {

// Whether the word "operator" stands at `at`.
bool is_operator_at(std::string_view text, std::size_t at);
// Length of the symbol of an overloaded operator at the start of `text`; 0: none, it is a conversion.
std::size_t operator_length(std::string_view text);
// The bracket that closes the one at `open`; npos: none does. Greater-than signs inside parentheses close nothing.
std::size_t closing_bracket(std::string_view text, std::size_t open);
// Without spaces at both ends.
std::string_view trimmed(std::string_view text);
// "int, std::map<int, int>" in two; of an empty text one empty part.
std::vector<std::string_view> split_arguments(std::string_view text);

// std :: vector <int, std::allocator<int> > :: push_back
struct NamePart {
  std::string_view name;
  std::string_view arguments; // of a template, between the angles
  friend bool operator==(const NamePart&, const NamePart&) = default;
};
// Scopes and name of a function or type, outermost first, without return type and parameters. At most 64 parts; empty: the name cannot be
// read, or it is an operator's. They lie in `demangled`.
std::vector<NamePart> name_parts(std::string_view demangled);

} // namespace heaptape
