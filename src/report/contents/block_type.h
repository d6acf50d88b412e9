// What a block at a snapshot is. A program does not say, so it is found out, and how is part of the answer:
//
//   Frame      functions that allocate are templates, and say what for: "std::string[]", "node of map<int, Circle>"
//   Vtable     the block begins with an object that has virtual functions: "Circle"; also in stripped programs
//   Runtime    the language's runtime marks its objects: "python dict"
//   Derived    it hangs on a field of a known type, as all blocks of its kind do: "field +0x18 of Circle", "items of python list"
//   Function   the function that made it, in angle brackets: "<sdsnewlen>". Not a type, but a function often makes blocks of one kind
//   None       nobody knows who made it
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace heaptape {

enum class TypeSource : std::uint8_t { Vtable, Frame, Runtime, Derived, Function, None };
inline constexpr std::array<std::string_view, 6> kTypeSources{"vtable",  "frame",    "runtime",
                                                              "derived", "function", "none"};
// For programs that read the answer.
constexpr std::string_view source_name(TypeSource source) { return kTypeSources[static_cast<std::size_t>(source)]; }

// In front of the names of CPython's types.
inline constexpr std::string_view kPythonPrefix = "python ";

struct BlockType {
  std::string name;
  TypeSource source = TypeSource::None;

  bool is_known() const { return source != TypeSource::Function && source != TypeSource::None; }
};

} // namespace heaptape
