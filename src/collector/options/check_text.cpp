#include "collector/options/check_text.h"

#include <algorithm>
#include <string_view>

namespace heaptape {
namespace {

bool is_byte(std::string_view text) {
  return (text.size() == 1 || text.size() == 2) && std::all_of(text.begin(), text.end(), [](char c) {
           return std::string_view("0123456789abcdefABCDEF").find(c) != std::string_view::npos;
         });
}
bool is_number(std::string_view text) {
  constexpr std::size_t kMostDigits = 12;
  return !text.empty() && text.size() <= kMostDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_known(std::string_view part) {
  const std::size_t equals = part.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = part.substr(0, equals), value = part.substr(equals + 1);
  if (name == "stomp") return is_byte(value);
  if (name == "fill") return value == "none" || is_byte(value);
  if (name == "quarantine" || name == "from" || name == "to" || name == "every") return is_number(value);
  if (name == "side") return value == "right" || value == "left" || value == "random";
  return name == "on-error" && (value == "report" || value == "stop" || value == "abort");
}

} // namespace

std::string mode_of_check(const std::string& text) { return text.substr(0, text.find(',')); }

Result<std::string> parse_check(const std::string& text) {
  const std::string mode = mode_of_check(text);
  if (mode != "check" && mode != "full") return Error{ErrorCode::Usage, "must be check or full, not '" + mode + "'"};
  std::string_view rest = std::string_view(text).substr(mode.size());
  while (!rest.empty()) {
    rest.remove_prefix(1); // the comma
    const std::string_view part = rest.substr(0, rest.find(','));
    if (!is_known(part))
      return Error{ErrorCode::Usage, "'" + std::string(part) +
                                         "' is not known; there are stomp=HH, fill=HH, fill=none, quarantine=BYTES, "
                                         "side=SIDE, from=BYTES, to=BYTES, every=N and "
                                         "on-error=report|stop|abort"};
    rest.remove_prefix(part.size());
  }
  return text;
}

} // namespace heaptape
