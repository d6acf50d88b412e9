#include "report/contents/allocated_type.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <vector>

#include "symbols/demangle.h"
#include "symbols/name_parts.h"

namespace heaptape {
namespace {

using Text = std::string_view;

bool is_any(Text text, std::initializer_list<Text> words) { return std::ranges::find(words, text) != words.end(); }

// "std::vector<int, std::allocator<int> >" as its last name and its arguments; nullopt: not such a type.
struct Template {
  Text scope, name;
  std::vector<Text> arguments;
};
std::optional<Template> template_of(Text type) {
  type = trimmed(type);
  const std::size_t open = type.find('<');
  if (open == type.npos || open == 0 || type.substr(0, open).find(' ') != type.npos) return std::nullopt;
  if (closing_bracket(type, open) != type.size() - 1) return std::nullopt;
  const Text path = type.substr(0, open);
  const std::size_t colons = path.rfind("::");
  const std::size_t name = colons == path.npos ? 0 : colons + 2;
  return Template{path.substr(0, name), path.substr(name),
                  split_arguments(type.substr(open + 1, type.size() - open - 2))};
}

bool is_standard(Text scope) { return scope.starts_with("std::") || scope.starts_with("__gnu_cxx::"); }

bool is_number(Text type) {
  return is_any(type, {"bool", "char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned int",
                       "long", "unsigned long", "long long", "unsigned long long", "float", "double"});
}
Text without_const(Text type) {
  if (type.ends_with(" const")) type.remove_suffix(6);
  return type;
}
Text without_pointer(Text type) {
  if (type.ends_with('*')) type.remove_suffix(1);
  return trimmed(type);
}

// "map<int, Circle>" of a pair, "set<int>" of anything else.
std::string associative(Text value, Text map, Text set) {
  const std::optional<Template> pair = template_of(value);
  const bool is_map = pair && is_standard(pair->scope) && pair->arguments.size() == 2 &&
                      (is_any(pair->name, {"__value_type", "__hash_value_type"}) ||
                       (pair->name == "pair" && pair->arguments[0].ends_with(" const")));
  if (!is_map) return std::string(set) + "<" + short_type(value) + ">";
  return std::string(map) + "<" + short_type(without_const(pair->arguments[0])) + ", " +
         short_type(pair->arguments[1]) + ">";
}

// What a standard library allocates besides what its user stores; empty: nothing of the kind.
std::string library_type(Text type) {
  const Text pointed = without_pointer(type);
  if (pointed != type) {
    const std::optional<Template> table = template_of(pointed);
    const bool is_table = pointed == "std::__detail::_Hash_node_base" || (table && table->name == "__hash_node_base");
    return is_table ? std::string(kBuckets) : std::string();
  }
  const std::optional<Template> made = template_of(type);
  if (!made || !is_standard(made->scope)) return {};
  const Text value = made->arguments.front();
  if (is_any(made->name, {"_Rb_tree_node", "__tree_node"})) return "node of " + associative(value, "map", "set");
  if (is_any(made->name, {"_Hash_node", "__hash_node"}))
    return "node of " + associative(value, "unordered_map", "unordered_set");
  if (is_any(made->name, {"_List_node", "__list_node"})) return "node of list<" + short_type(value) + ">";
  if (is_any(made->name, {"_Fwd_list_node", "__forward_list_node"}))
    return "node of forward_list<" + short_type(value) + ">";
  if (is_any(made->name, {"_Sp_counted_ptr_inplace", "__shared_ptr_emplace"}))
    return short_type(without_const(value)) + " (shared)";
  if (is_any(made->name, {"_Sp_counted_ptr", "_Sp_counted_deleter", "__shared_ptr_pointer"}))
    return "control block of " + short_type(without_const(without_pointer(value)));
  return {};
}

std::string array_of(Text type) {
  std::string special = library_type(type);
  return special.empty() ? short_type(type) + "[]" : special;
}

bool says_allocator(Text name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower.find("alloc") != lower.npos;
}

// What an allocator, or the traits of one, makes room for.
Text value_of_allocator(const NamePart& allocator) {
  if (allocator.arguments.empty() || !says_allocator(allocator.name)) return {};
  const std::vector<Text> arguments = split_arguments(allocator.arguments);
  if (allocator.name == "__alloc_traits" && arguments.size() > 1) return arguments[1];
  if (!is_any(allocator.name, {"allocator_traits", "__alloc_traits"})) return arguments.front();
  const std::optional<Template> of = template_of(arguments.front());
  return of ? of->arguments.front() : Text();
}

bool is_parameter(Text type) { return type.size() <= 1; } // "T": what it stood for is not in the name

// Without the modules that everybody knows: Vec<String> of alloc::vec::Vec<alloc::string::String>.
std::string rust_type(Text type) {
  std::string text = short_type(type);
  for (const Text known : {"alloc::string::", "alloc::vec::", "alloc::boxed::", "alloc::rc::", "alloc::sync::",
                           "core::option::", "alloc::collections::btree::map::", "std::collections::hash::map::"}) {
    for (std::size_t at = text.find(known); at != text.npos; at = text.find(known, at)) text.erase(at, known.size());
  }
  return text;
}

// What the standard library of Rust allocates besides what its user stores; else the type itself.
std::string boxed_in_rust(Text type) {
  const std::optional<Template> made = template_of(type);
  if (made && made->scope.starts_with("alloc::")) {
    if (is_any(made->name, {"RcInner", "RcBox", "ArcInner"})) return rust_type(made->arguments.front()) + " (shared)";
    if (is_any(made->name, {"LeafNode", "InternalNode"}) && made->arguments.size() > 1)
      return "node of BTreeMap<" + rust_type(made->arguments[0]) + ", " + rust_type(made->arguments[1]) + ">";
  }
  return rust_type(type);
}

// <alloc::vec::Vec<app::Item>>::with_capacity, <alloc::boxed::Box<T> as core::clone::Clone>::clone
std::string allocated_in_rust(Text function) {
  const std::size_t end = closing_bracket(function, 0);
  if (end == function.npos) return {};
  Text self = function.substr(1, end - 1);
  self = self.substr(0, self.find(" as "));
  if (self == "alloc::string::String") return "u8[]";
  const std::optional<Template> type = template_of(self);
  if (!type || is_parameter(type->arguments.front())) return {};
  const Text value = type->arguments.front();
  const Text path = type->scope;
  if (path.starts_with("hashbrown::") || path.starts_with("std::collections::hash::"))
    return is_any(type->name, {"RawTable", "HashMap", "HashSet"}) ? "table of HashMap<" + rust_type(value) + ">"
                                                                  : std::string();
  if (!path.starts_with("alloc::")) return {};
  if (is_any(type->name, {"RawVec", "Vec", "VecDeque"})) return rust_type(value) + "[]";
  if (type->name == "Box") return boxed_in_rust(value);
  if (is_any(type->name, {"Arc", "Rc"})) return rust_type(value) + " (shared)";
  return {};
}

} // namespace

AllocatedType allocated_type(std::string_view function) {
  if (function.starts_with('<')) return {allocated_in_rust(function)};
  const std::vector<NamePart> parts = name_parts(function);
  if (parts.size() < 2) return {};
  const NamePart& last = parts.back();
  const NamePart& owner = parts[parts.size() - 2];
  const bool standard = is_any(parts.front().name, {"std", "__gnu_cxx"});
  if (is_any(last.name, {"allocate", "allocate_at_least"})) {
    const Text value = value_of_allocator(owner);
    if (value.empty() || value == "void") return {};
    return {array_of(value), !standard};
  }
  if (!standard) return {};
  const auto first_of = [](Text arguments) { return short_type(split_arguments(arguments).front()); };
  if (is_any(last.name, {"make_unique", "make_unique_for_overwrite"}) && !last.arguments.empty())
    return {first_of(last.arguments), true};
  if (owner.name == "basic_string") return {first_of(owner.arguments) + "[]"}; // characters allocate nothing themselves
  if (owner.name == "_Base_manager" && is_any(last.name, {"_M_create", "_M_init_functor", "_M_clone"}))
    return {first_of(owner.arguments), true};
  return {};
}

std::string container_of(std::string_view function) {
  const std::vector<NamePart> parts = name_parts(function);
  if (parts.size() < 2 || parts.front().name != "std") return {};
  const NamePart& owner = parts[parts.size() - 2];
  const std::vector<Text> arguments = split_arguments(owner.arguments);
  if (owner.name == "_Hashtable" && arguments.size() > 1)
    return associative(arguments[1], "unordered_map", "unordered_set");
  if (owner.name == "__hash_table") return associative(arguments.front(), "unordered_map", "unordered_set");
  if (owner.name == "unordered_map" && arguments.size() > 1)
    return "unordered_map<" + short_type(arguments[0]) + ", " + short_type(arguments[1]) + ">";
  if (owner.name == "unordered_set") return "unordered_set<" + short_type(arguments.front()) + ">";
  return {};
}

std::string object_type(std::string_view demangled) {
  std::string special = library_type(demangled);
  return special.empty() ? short_type(demangled) : special;
}

std::string pointed_type(std::string_view type) {
  if (type.find("…") != type.npos) return {};
  constexpr Text kNode = "node of ";
  std::string_view value = type;
  if (value.ends_with("[]")) {
    value.remove_suffix(2);
  } else if (value.starts_with(kNode)) {
    const std::optional<Template> container = template_of(value.substr(kNode.size()));
    if (!container) return {};
    value = container->arguments.back();
    // Other keys may lead somewhere, too.
    if (container->arguments.size() > 1 && !is_number(container->arguments.front())) return {};
  } else {
    return {};
  }
  const std::optional<Template> pointer = template_of(value);
  if (pointer && pointer->name == "unique_ptr")
    value = pointer->arguments.front();
  else if (without_pointer(value) != value)
    value = without_const(without_pointer(value));
  else
    return {};
  if (value == "char") return "char[]";
  return value == "void" || is_number(value) ? std::string() : std::string(value);
}

bool is_raw_bytes(std::string_view type) {
  return is_any(type, {"char[]", "unsigned char[]", "signed char[]", "std::byte[]", "u8[]"});
}

} // namespace heaptape
