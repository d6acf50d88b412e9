#include "symbols/demangle.h"

#include <libiberty/demangle.h>

#include <cstdlib>
#include <memory>

namespace heaptape {

namespace {

// Longer names are damage, and the demangler's time grows faster than its input.
constexpr std::size_t kMaxName = std::size_t{64} << 10;

using Text = std::unique_ptr<char, decltype(&std::free)>;

Text demangled(const std::string& name) {
  const int options = DMGL_PARAMS | DMGL_ANSI | DMGL_TYPES;
  if (name.starts_with("_D")) return {::dlang_demangle(name.c_str(), options), &std::free};
  // Legacy Rust names are C++ names with a hash at the end, so Rust comes first.
  if (name.starts_with("_R") || name.starts_with("_ZN")) {
    if (char* text = ::rust_demangle(name.c_str(), DMGL_PARAMS | DMGL_ANSI); text != nullptr) return {text, &std::free};
  }
  if (name.starts_with("_Z")) return {::cplus_demangle_v3(name.c_str(), options), &std::free};
  return {nullptr, &std::free};
}

} // namespace

std::string demangle(std::string_view linkage_name, NameForm form) {
  std::string name(linkage_name);
  if (form == NameForm::Mangled || name.size() > kMaxName) return name;
  const Text text = demangled(name);
  if (text != nullptr) name = text.get();
  return form == NameForm::Short ? short_name(name) : name;
}

} // namespace heaptape
