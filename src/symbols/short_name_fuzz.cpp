// Any bytes as a linkage name and as a demangled one: no crash, no hang, and never nothing for something.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "symbols/demangle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heaptape;
  const std::string_view name(reinterpret_cast<const char*>(data), size);
  HT_CHECK(demangle(name, NameForm::Mangled) == name);
  HT_CHECK(size == 0 || !short_name(name).empty());
  // The demanglers end at the first NUL byte.
  if (name.find('\0') == std::string_view::npos) {
    HT_CHECK(size == 0 || !demangle(name, NameForm::Full).empty());
    HT_CHECK(size == 0 || !demangle(name, NameForm::Short).empty());
  }
  return 0;
}
