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
  constexpr std::size_t kMostDigits = 14;
  return !text.empty() && text.size() <= kMostDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// BEGIN-END[@OBJECT], as addresses in the object's file.
bool is_range(std::string_view text) {
  const std::size_t dash = text.find('-'), at = text.find('@');
  const auto is_address = [](std::string_view digits) {
    return !digits.empty() && digits.size() <= 16 &&
           digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  };
  if (dash == std::string_view::npos || !is_address(text.substr(0, dash))) return false;
  if (at == std::string_view::npos) return is_address(text.substr(dash + 1));
  return at > dash && is_address(text.substr(dash + 1, at - dash - 1)) && is_object_name(text.substr(at + 1));
}

bool is_known_of_failing(std::string_view name, std::string_view value) {
  if (name == "every") return is_number(value) && value.find_first_not_of('0') != std::string_view::npos;
  if (name == "nth" || name == "chance" || name == "seed" || name == "above" || name == "below")
    return is_number(value);
  if (name == "in") return is_object_name(value);
  return name == "from" && is_range(value);
}

bool is_known(std::string_view part, bool fails) {
  const std::size_t equals = part.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = part.substr(0, equals), value = part.substr(equals + 1);
  if (name == "stomp") return is_byte(value);
  if (name == "fill") return value == "none" || is_byte(value);
  if (fails && (name == "from" || name == "every" || is_known_of_failing(name, value)))
    return is_known_of_failing(name, value);
  if (name == "quarantine" || name == "sweep" || name == "from" || name == "to" || name == "every")
    return is_number(value);
  if (name == "align") return value == "1" || value == "2" || value == "4" || value == "8" || value == "16";
  if (name == "side") return value == "right" || value == "left" || value == "random";
  return name == "on-error" && (value == "report" || value == "stop" || value == "abort");
}

} // namespace

bool is_object_name(std::string_view text) {
  constexpr std::size_t kMostCharacters = 63; // recorder/check/failing.h
  return !text.empty() && text.size() <= kMostCharacters && text.find_first_of(",/@") == std::string_view::npos;
}

std::string mode_of_check(const std::string& text) { return text.substr(0, text.find(',')); }

Result<std::string> parse_check(const std::string& text) {
  const std::string mode = mode_of_check(text);
  if (mode != "check" && mode != "full" && mode != "fail")
    return Error{ErrorCode::Usage, "must be check, full or fail, not '" + mode + "'"};
  std::string_view rest = std::string_view(text).substr(mode.size());
  while (!rest.empty()) {
    rest.remove_prefix(1); // the comma
    const std::string_view part = rest.substr(0, rest.find(','));
    if (!is_known(part, mode == "fail"))
      return Error{ErrorCode::Usage, "'" + std::string(part) +
                                         "' is not known; there are stomp=HH, fill=HH, fill=none, quarantine=BYTES, "
                                         "sweep=BYTES, side=SIDE, align=N, from=BYTES, to=BYTES, every=N and "
                                         "on-error=report|stop|abort, and with the mode fail nth=N, every=N, chance=N, "
                                         "seed=N, above=BYTES, below=BYTES, in=OBJECT and from=BEGIN-END[@OBJECT]"};
    rest.remove_prefix(part.size());
  }
  return text;
}

} // namespace heaptape
