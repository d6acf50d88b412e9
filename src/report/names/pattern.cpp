#include "report/names/pattern.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace heaptape {
namespace {

// The C library writes out what is to be repeated, so that counts within counts multiply. What they come to at most, if
// all of them were.
std::uint64_t repetitions(const std::string& expression) {
  std::uint64_t product = 1;
  for (std::size_t open = expression.find('{'); open != expression.npos; open = expression.find('{', open + 1)) {
    const std::size_t close = expression.find('}', open);
    if (close == expression.npos) break;
    const std::string counts = expression.substr(open + 1, close - open - 1);
    const std::size_t comma = counts.find(',');
    const std::uint64_t least = std::strtoull(counts.c_str(), nullptr, 10);
    const std::uint64_t most = comma == counts.npos ? least : std::strtoull(counts.c_str() + comma + 1, nullptr, 10);
    product *= std::clamp<std::uint64_t>(std::max(least, most), 1, 100'000);
    if (product > 100'000) break;
  }
  return product;
}

} // namespace

Result<Pattern> Pattern::compile(const std::string& expression) {
  if (repetitions(expression) > 10'000) {
    return Error{ErrorCode::Usage,
                 "'" + expression + "' repeats too much: the counts in braces come to more than 10,000"};
  }
  auto compiled = std::make_unique<regex_t>();
  if (const int error = ::regcomp(compiled.get(), expression.c_str(), REG_EXTENDED | REG_NOSUB); error != 0) {
    char text[256];
    ::regerror(error, compiled.get(), text, sizeof text);
    return Error{ErrorCode::Usage, "'" + expression + "' is not a regular expression: " + text};
  }
  Pattern pattern;
  pattern.expression_.reset(compiled.release());
  return pattern;
}

bool Pattern::matches(std::string_view text) const {
  // With REG_STARTEND the text needs no terminating NUL.
  regmatch_t range{.rm_so = 0, .rm_eo = static_cast<regoff_t>(text.size())};
  return ::regexec(expression_.get(), text.data(), 1, &range, REG_STARTEND) == 0;
}

} // namespace heaptape
