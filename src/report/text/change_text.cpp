#include "report/text/change_text.h"

#include "base/number_text.h"

namespace heaptape {
namespace {

std::uint64_t size_of(std::int64_t change) {
  const auto bits = static_cast<std::uint64_t>(change);
  return change < 0 ? 0 - bits : bits;
}
const char* sign_of(std::int64_t change) { return change > 0 ? "+" : change < 0 ? "-" : ""; }

} // namespace

std::string signed_bytes_text(std::int64_t bytes) { return sign_of(bytes) + bytes_text(size_of(bytes)); }
std::string signed_count_text(std::int64_t count) { return sign_of(count) + with_separators(size_of(count)); }
std::string signed_exact_bytes_text(std::int64_t bytes) {
  if (size_of(bytes) < 1'000) return signed_bytes_text(bytes);
  return signed_bytes_text(bytes) + " (" + signed_count_text(bytes) + " bytes)";
}

} // namespace heaptape
