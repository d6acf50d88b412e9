// fmt's own code, compiled once: Debian 12 has no libfmt.a, the shared library would cost a look-up at every start, and
// the header-only form compiles the formatting engine in every file that prints.
#include <iterator>

#include <fmt/format-inl.h>

#include "base/format_into.h"

FMT_BEGIN_NAMESPACE
namespace detail {

// The templates that <fmt/format.h> declares extern.
template FMT_API auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto thousands_sep_impl<wchar_t>(locale_ref) -> thousands_sep_result<wchar_t>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
template FMT_API auto decimal_point_impl(locale_ref) -> wchar_t;

} // namespace detail
FMT_END_NAMESPACE

namespace heaptape {

void vformat_into(fmt::memory_buffer& to, fmt::string_view format, fmt::format_args args) {
  fmt::vformat_to(fmt::appender(to), format, args);
}

void vformat_into(std::string& to, fmt::string_view format, fmt::format_args args) {
  fmt::vformat_to(std::back_inserter(to), format, args);
}

} // namespace heaptape
