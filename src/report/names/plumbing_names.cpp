#include "report/names/plumbing_names.h"

#include <algorithm>
#include <cctype>

#include "report/names/plumbing_tables.h"
#include "symbols/demangle.h"

namespace heaptape {
namespace {

using namespace plumbing;

template <class List>
bool begins_with_any(Text text, const List& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](Text each) { return text.starts_with(each); });
}
template <class List>
bool is_any(Text text, const List& list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// Where the angle bracket at the start of a name of Rust closes, or " as " stands at its level, whichever is first.
std::size_t end_of_type(Text name) {
  int depth = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const char c = name[at];
    if (c == '<' || c == '(' || c == '[') ++depth;
    if (c == '>' && at != 0 && name[at - 1] == '-') continue;
    if ((c == '>' || c == ')' || c == ']') && --depth == 0) return at;
    if (depth == 1 && name.substr(at).starts_with(" as ")) return at;
  }
  return name.size();
}

// Without "&", "mut", "dyn", brackets and the like in front of it.
Text bare_type(Text type) {
  for (bool again = true; again;) {
    again = false;
    for (const Text front : {"&", "mut ", "dyn ", "*const ", "*mut ", "[", "(", "<", "impl ", " "}) {
      if (!type.starts_with(front)) continue;
      type.remove_prefix(front.size());
      again = true;
    }
    // A lifetime: &'a T
    if (type.starts_with('\'')) {
      const std::size_t blank = type.find(' ');
      if (blank == type.npos) break;
      type.remove_prefix(blank + 1);
      again = true;
    }
  }
  return type;
}

bool is_plumbing_of_rust(Text name) {
  const std::size_t end = end_of_type(name);
  const Text type = bare_type(name.substr(1, end > 0 ? end - 1 : 0));
  if (begins_with_any(type, kScopes)) return true;
  // "T", "str", "fn() ", "u8": of no crate.
  const Text head = type.substr(0, std::min(type.find_first_of("<( ,;>"), type.size()));
  if (head.find("::") != head.npos) return false;
  if (!name.substr(end).starts_with(" as ")) return true;
  return begins_with_any(bare_type(name.substr(end + 4)), kScopes) || name.substr(end + 4).starts_with('<');
}

bool is_of_class(Text name) {
  const Text head = name.substr(0, std::min(name.find_first_of("<:("), name.size()));
  return head.size() < name.size() && is_any(head, kClasses);
}

// The name behind the last scope, in small letters and without template arguments.
std::string last_word(Text name) {
  name = name.substr(0, std::min(name.find('<', 1), name.find('(')));
  if (const std::size_t scope = name.rfind("::"); scope != name.npos) name.remove_prefix(scope + 2);
  std::string word(name);
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

// The newer names say so; older ones end with a hash of 16 digits.
bool is_of_rust(Text linkage_name) {
  constexpr std::size_t kHash = 20; // 17h0123456789abcdefE
  return linkage_name.starts_with("_R") || (linkage_name.starts_with("_ZN") && linkage_name.size() > kHash &&
                                            linkage_name.substr(linkage_name.size() - kHash).starts_with("17h"));
}

bool is_of_d(Text linkage_name) { return linkage_name.starts_with("_D") && linkage_name != "_Dmain"; }

// "pure nothrow @safe std.conv.to!(string).to(int)": attributes come first.
Text without_attributes(Text name) {
  for (std::size_t blank = name.find(' '); blank != name.npos && blank < name.find('('); blank = name.find(' '))
    name.remove_prefix(blank + 1);
  return name;
}

// "operator+(QString const&, QString const&)": of no scope, but of a class.
bool is_operator_of_class(Text full) {
  if (!full.starts_with("operator") || full.starts_with("operator new") || full.starts_with("operator delete"))
    return false;
  const std::size_t open = full.find('(');
  if (open == full.npos) return false;
  const Text type = full.substr(open + 1);
  return is_any(type.substr(0, std::min(type.find_first_of(" &<,)"), type.size())), kClasses);
}

// GCC's vectors, by the policies that only they have: vec<tree_node*, va_gc, vl_embed>::safe_grow_cleared(unsigned int, bool).
bool is_vector_of_gcc(Text full) {
  if (!full.starts_with("vec<")) return false;
  const Text arguments = full.substr(3, end_of_type(full.substr(3)));
  return arguments.find(", va_heap, vl_") != full.npos || arguments.find(", va_gc, vl_") != full.npos ||
         arguments.find(", va_gc_atomic, vl_") != full.npos;
}
bool reserves_for_gcc(Text name) { return name.starts_with("va_heap::reserve") || name.starts_with("va_gc::reserve"); }

// No demangler knows what "string_view::operator T()" of absl is called; its outermost scope can be read all the same.
bool is_nested_in_scope(Text linkage_name) {
  if (!linkage_name.starts_with("_ZN")) return false;
  linkage_name.remove_prefix(linkage_name.starts_with("_ZNK") ? 4 : 3);
  if (linkage_name.starts_with("St")) return true;
  std::size_t length = 0, digits = 0;
  for (; digits < linkage_name.size() && digits < 4 && std::isdigit(static_cast<unsigned char>(linkage_name[digits]));
       ++digits)
    length = length * 10 + static_cast<std::size_t>(linkage_name[digits] - '0');
  return digits != 0 && is_any(std::string(linkage_name.substr(digits, length)) + "::", kScopes);
}

// Releases of absl have an inline namespace of their own: absl::lts_20220623::, absl::debian3::.
std::string without_release(std::string name) {
  for (const Text release : {"absl::lts_", "absl::debian"}) {
    if (!name.starts_with(release)) continue;
    const std::size_t end = name.find("::", release.size());
    if (end != name.npos) return "absl" + name.substr(end);
  }
  return name;
}

bool contains(Text text, Text part) { return text.find(part) != text.npos; }

} // namespace

bool is_plumbing_module(std::string_view module_name) { return begins_with_any(module_name, kModules); }

bool is_named_after_allocating(std::string_view linkage_name) {
  const std::string word =
      last_word(demangle(linkage_name, NameForm::Full).starts_with('<') ? std::string(linkage_name)
                                                                        : demangle(linkage_name, NameForm::Short));
  return std::any_of(kWords.begin(), kWords.end(), [&](Text each) { return word.find(each) != word.npos; }) ||
         word.starts_with("operator new");
}

bool is_plumbing_function(std::string_view linkage_name) {
  if (linkage_name.empty() || is_python_function(linkage_name)) return false;
  const std::string full = demangle(linkage_name, NameForm::Full);
  if (is_of_d(linkage_name) && full != linkage_name) return begins_with_any(without_attributes(full), kModulesOfD);
  if (full.starts_with('<')) return is_plumbing_of_rust(full);
  // "alloc::slice::<impl ToOwned for [T]>::to_owned": the short form begins elsewhere. In C++ a return type may come first.
  if (is_of_rust(linkage_name) && begins_with_any(full, kScopes)) return true;
  if (full == linkage_name && is_nested_in_scope(linkage_name)) return true;
  const std::string name = short_name(full);
  return begins_with_any(name, kScopes) || is_operator_of_class(full) || is_vector_of_gcc(full) ||
         reserves_for_gcc(name) || begins_with_any(name, kBeginnings) || is_any(Text(name), kNames) ||
         is_of_class(name) || is_named_after_allocating(linkage_name);
}

bool is_python_loop(std::string_view linkage_name) {
  return linkage_name.starts_with("_PyEval_EvalFrame") || linkage_name == "_PyEval_Vector" ||
         linkage_name == "py_trampoline_evaluator";
}
bool is_python_function(std::string_view linkage_name) { return linkage_name.starts_with("py::"); }

std::string enclosing_function(std::string_view linkage_name) {
  const bool closure = linkage_name.starts_with("_R")    ? contains(linkage_name, "NC")
                       : linkage_name.starts_with("_ZN") ? contains(linkage_name, "$closure$")
                                                         : is_of_d(linkage_name) && contains(linkage_name, "__lambda");
  if (!closure) return {};
  std::string name = demangle(linkage_name, NameForm::Full);
  std::size_t at = std::min(name.find("::{{closure}}"), name.find("::{closure#"));
  if (is_of_d(linkage_name)) {
    name = std::string(without_attributes(name));
    at = name.find(".__lambda");
  }
  if (at == name.npos || at == 0) return {};
  return name.substr(0, at);
}

std::string_view container_made_by(std::string_view linkage_name) {
  const std::string full = demangle(linkage_name, NameForm::Full);
  if (full.starts_with('<') || contains(full, "::{{closure}}") || full.starts_with("alloc::") ||
      full.starts_with("hashbrown::")) {
    const Text type = full.starts_with('<') ? bare_type(Text(full).substr(1)) : Text(full);
    if (type.starts_with("alloc::string::") || type.starts_with("alloc::fmt::") || type.starts_with("alloc::str::"))
      return "string";
    if (type.starts_with("alloc::vec::")) return "vector";
    if (type.starts_with("alloc::collections::btree")) return "map node";
    if (type.starts_with("hashbrown::") || type.starts_with("std::collections::hash")) return "hash table";
    if (type.starts_with("alloc::boxed::")) return "boxed value";
    if (type.starts_with("alloc::sync::Arc") || type.starts_with("alloc::rc::Rc")) return "shared object";
    return {};
  }
  const std::string name = without_release(short_name(full));
  for (const auto& [beginning, what] : kContainers) {
    if (name.starts_with(beginning)) return what;
  }
  const std::string word = last_word(name);
  for (const Text text : {"strdup", "strndup", "asprintf"})
    if (contains(word, text)) return "string";
  return {};
}

} // namespace heaptape
