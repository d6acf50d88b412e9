#include "report/names/plumbing_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "symbols/demangle.h"

namespace heaptape {
namespace {

using Text = std::string_view;

// Libraries that allocate on behalf of their caller.
constexpr std::array kModules = std::to_array<Text>({"libc.so", "libc-", "libstdc++.so", "libc++.so", "libc++abi.so",
                                                     "ld-linux", "ld-musl", "libgcc_s.so", "libpthread", "libdruntime-",
                                                     "libphobos2", "libgphobos.so", "libgdruntime.so", "libstd-"});

// C++ and Rust: the outermost scope of the function, or of the type it belongs to.
constexpr std::array kScopes =
    std::to_array<Text>({"std::", "__gnu_cxx::", "__cxxabiv1::", "boost::", "absl::", "fmt::", "folly::", "alloc::",
                         "core::", "hashbrown::", "QtPrivate::", "QHashPrivate::", "QtSharedPointer::", "__rustc::"});

// Classes that hold things, not in a scope of their own.
constexpr std::array kClasses = std::to_array<Text>({"QArrayData",
                                                     "QTypedArrayData",
                                                     "QArrayDataPointer",
                                                     "QArrayDataOps",
                                                     "QGenericArrayOps",
                                                     "QPodArrayOps",
                                                     "QMovableArray",
                                                     "QCommonArrayOps",
                                                     "QString",
                                                     "QStringBuilder",
                                                     "QStringList",
                                                     "QByteArray",
                                                     "QList",
                                                     "QListData",
                                                     "QVector",
                                                     "QHash",
                                                     "QHashData",
                                                     "QMultiHash",
                                                     "QMap",
                                                     "QMapData",
                                                     "QMapDataBase",
                                                     "QMultiMap",
                                                     "QMapNode",
                                                     "QMapNodeBase",
                                                     "QSet",
                                                     "QLinkedList",
                                                     "QVarLengthArray",
                                                     "QSharedPointer",
                                                     "QScopedPointer",
                                                     "QVariant",
                                                     "QContiguousCache"});

// D: druntime and Phobos.
constexpr std::array kModulesOfD = std::to_array<Text>({"core.", "object.", "std.", "rt.", "gc.", "ldc.", "gcc."});

// C functions, by how they begin. Whole families: what makes a list or a string makes it for its caller.
constexpr std::array kBeginnings = std::to_array<Text>({"operator new",
                                                        "__rust_",
                                                        "__rdl_",
                                                        "__rg_",
                                                        "__cxa_",
                                                        "_d_new",
                                                        "_d_array",
                                                        "_d_alloc",
                                                        "_d_assoc",
                                                        "_d_append",
                                                        "_d_delegate",
                                                        "_d_callfinalizer",
                                                        "_aaGet",
                                                        "_aaNew",
                                                        "gc_malloc",
                                                        "gc_qalloc",
                                                        "gc_calloc",
                                                        "gc_realloc",
                                                        "gc_extend",
                                                        "g_malloc",
                                                        "g_realloc",
                                                        "g_try_",
                                                        "g_slice_",
                                                        "g_strdup",
                                                        "g_strndup",
                                                        "g_strconcat",
                                                        "g_strjoin",
                                                        "g_strsplit",
                                                        "g_strv_",
                                                        "g_memdup",
                                                        "g_array_",
                                                        "g_ptr_array_",
                                                        "g_byte_array_",
                                                        "g_hash_table_",
                                                        "g_string_",
                                                        "g_list_",
                                                        "g_slist_",
                                                        "g_queue_",
                                                        "g_tree_",
                                                        "g_sequence_",
                                                        "g_bytes_",
                                                        "g_variant_",
                                                        "g_intern_",
                                                        "g_quark_",
                                                        "g_value_",
                                                        "g_error_new",
                                                        "g_build_",
                                                        "g_object_new",
                                                        "g_type_create_instance",
                                                        "g_once_",
                                                        "qMalloc",
                                                        "qRealloc",
                                                        "PyMem_",
                                                        "_PyMem_",
                                                        "PyObject_Malloc",
                                                        "PyObject_Calloc",
                                                        "PyObject_Realloc",
                                                        "_PyObject_Malloc",
                                                        "_PyObject_Calloc",
                                                        "_PyObject_Realloc",
                                                        "_PyObject_New",
                                                        "PyObject_Init",
                                                        "_PyObject_GC_",
                                                        "PyObject_GC_",
                                                        "_PyGC_",
                                                        "PyType_GenericAlloc",
                                                        "_PyType_Alloc",
                                                        "PyType_GenericNew",
                                                        "PyUnicode_",
                                                        "_PyUnicode_",
                                                        "_PyUnicodeWriter_",
                                                        "PyBytes_",
                                                        "_PyBytes_",
                                                        "_PyBytesWriter_",
                                                        "PyByteArray_",
                                                        "PyList_",
                                                        "_PyList_",
                                                        "PyTuple_",
                                                        "_PyTuple_",
                                                        "PyDict_",
                                                        "_PyDict_",
                                                        "PySet_",
                                                        "_PySet_",
                                                        "PyLong_",
                                                        "_PyLong_",
                                                        "PyFloat_",
                                                        "PyComplex_",
                                                        "PyCell_",
                                                        "PyMethod_New",
                                                        "PyCMethod_New",
                                                        "PyCFunction_New",
                                                        "PySlice_New",
                                                        "PyWeakref_New",
                                                        "_PyArena_",
                                                        "PyArena_",
                                                        "_PyStack_"});

// C functions, and static ones of CPython that have no prefix.
constexpr std::array kNames = std::to_array<Text>({"list_resize",
                                                   "list_append",
                                                   "list_extend",
                                                   "app1",
                                                   "list_new_prealloc",
                                                   "new_keys_object",
                                                   "dictresize",
                                                   "insertdict",
                                                   "insert_to_emptydict",
                                                   "insertion_resize",
                                                   "new_dict",
                                                   "new_dict_with_shared_keys",
                                                   "dict_new",
                                                   "dict_new_presized",
                                                   "set_table_resize",
                                                   "set_add_entry",
                                                   "make_new_set",
                                                   "unicode_decode_utf8",
                                                   "unicode_concatenate",
                                                   "resize_compact",
                                                   "unicode_resize",
                                                   "unicode_char",
                                                   "tuple_alloc",
                                                   "gc_alloc",
                                                   "long_alloc",
                                                   "resize_buffer",
                                                   "block_new",
                                                   "allocate_from_new_pool",
                                                   "_PyDictKeys_DecRef",
                                                   "asprintf",
                                                   "vasprintf",
                                                   "xasprintf",
                                                   "xvasprintf",
                                                   "__asprintf_chk",
                                                   "__vasprintf_chk",
                                                   "getline",
                                                   "getdelim",
                                                   "realpath",
                                                   "fopen"});

constexpr std::array kWords = std::to_array<Text>({"alloc", "strdup", "strndup", "memdup"});

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
  const std::string name = short_name(full);
  return begins_with_any(name, kScopes) || begins_with_any(name, kBeginnings) || is_any(Text(name), kNames) ||
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
  const std::string name = short_name(full);
  static constexpr std::pair<Text, Text> kContainers[] = {{"std::vector", "vector"},
                                                          {"std::_Vector_base", "vector"},
                                                          {"std::__1::vector", "vector"},
                                                          {"std::string", "string"},
                                                          {"std::__cxx11::basic_string", "string"},
                                                          {"std::basic_string", "string"},
                                                          {"std::__1::basic_string", "string"},
                                                          {"std::__1::string", "string"},
                                                          {"std::wstring", "string"},
                                                          {"std::map", "map node"},
                                                          {"std::multimap", "map node"},
                                                          {"std::set", "set node"},
                                                          {"std::multiset", "set node"},
                                                          {"std::_Rb_tree", "map node"},
                                                          {"std::__1::__tree", "map node"},
                                                          {"std::__1::map", "map node"},
                                                          {"std::unordered_", "hash node"},
                                                          {"std::_Hashtable", "hash node"},
                                                          {"std::__detail::_Hash", "hash node"},
                                                          {"std::__1::__hash_table", "hash node"},
                                                          {"std::list", "list node"},
                                                          {"std::_List", "list node"},
                                                          {"std::__cxx11::list", "list node"},
                                                          {"std::__cxx11::_List", "list node"},
                                                          {"std::__1::list", "list node"},
                                                          {"std::deque", "deque part"},
                                                          {"std::_Deque", "deque part"},
                                                          {"std::__1::deque", "deque part"},
                                                          {"std::function", "function object"},
                                                          {"std::_Function", "function object"},
                                                          {"std::shared_ptr", "shared object"},
                                                          {"std::__shared", "shared object"},
                                                          {"std::make_shared", "shared object"},
                                                          {"std::_Sp_counted", "shared object"},
                                                          {"std::make_unique", "object"},
                                                          {"std::any", "any"},
                                                          {"boost::container::vector", "vector"},
                                                          {"boost::container::small_vector", "vector"},
                                                          {"absl::InlinedVector", "vector"},
                                                          {"absl::inlined_vector_internal", "vector"},
                                                          {"absl::container_internal", "hash table"},
                                                          {"absl::lts_20220623::container_internal", "hash table"},
                                                          {"QString", "string"},
                                                          {"QByteArray", "byte array"},
                                                          {"QVector", "vector"},
                                                          {"QList", "list"},
                                                          {"QHash", "hash table"},
                                                          {"QMap", "map node"},
                                                          {"g_strdup", "string"},
                                                          {"g_string_", "string"},
                                                          {"g_array_", "array"},
                                                          {"g_ptr_array_", "array"},
                                                          {"g_list_", "list node"},
                                                          {"g_slist_", "list node"},
                                                          {"g_hash_table_", "hash table"},
                                                          {"PyUnicode_", "string"},
                                                          {"_PyUnicode", "string"},
                                                          {"PyBytes_", "bytes object"},
                                                          {"PyList_", "list"},
                                                          {"list_resize", "list"},
                                                          {"PyTuple_", "tuple"},
                                                          {"PyDict_", "dict"},
                                                          {"_PyDict_", "dict"},
                                                          {"PyLong_", "int object"},
                                                          {"_PyLong_", "int object"},
                                                          {"PyFloat_", "float object"}};
  for (const auto& [beginning, what] : kContainers) {
    if (name.starts_with(beginning)) return what;
  }
  const std::string word = last_word(name);
  for (const Text text : {"strdup", "strndup", "asprintf"})
    if (contains(word, text)) return "string";
  return {};
}

} // namespace heaptape
