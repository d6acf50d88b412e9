#include "symbols/run_time_name.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace heaptape {

namespace {

// Takes ":NUMBER" off the end of a place.
bool take_number(std::string_view& place, std::uint32_t& number) {
  const std::size_t colon = place.rfind(':');
  if (colon == place.npos || colon + 1 == place.size()) return false;
  const char* const end = place.data() + place.size();
  const auto [stop, error] = std::from_chars(place.data() + colon + 1, end, number);
  if (error != std::errc() || stop != end) return false;
  place = place.substr(0, colon);
  return true;
}

// "foo /home/me/x.js:12:5", "foo file:///home/me/x.js:12:5", " /home/me/x.js:1:1".
SourcePlace script_function(std::string_view text, std::string_view without_name) {
  SourcePlace place;
  std::string_view where;
  const std::size_t space = text.find(' ');
  if (space != text.npos) where = text.substr(space + 1);
  std::string_view name = text.substr(0, space);
  std::uint32_t last = 0, before = 0;
  if (take_number(where, last)) {
    place.line = last;
    if (take_number(where, before)) {
      place.line = before;
      place.column = last;
    }
  }
  if (where.starts_with("file://")) where.remove_prefix(7);
  place.file = where;
  place.function = name.empty() ? without_name : name;
  return place;
}

} // namespace

SourcePlace run_time_name(std::string_view name) {
  if (name.starts_with("py::")) {
    const std::string_view text = name.substr(4);
    const std::size_t colon = text.find(':');
    if (colon != text.npos && colon != 0)
      return {.function = std::string(text.substr(0, colon)), .file = std::string(text.substr(colon + 1))};
  }
  // V8: what sort of code, then how far it is compiled (~ interpreted, ^ or + baseline, * optimised), then the function.
  static constexpr std::array<std::string_view, 5> kScripts = {"LazyCompile", "Function", "JS", "Script", "Eval"};
  const std::size_t colon = name.find(':');
  if (colon != name.npos && std::find(kScripts.begin(), kScripts.end(), name.substr(0, colon)) != kScripts.end()) {
    std::string_view text = name.substr(colon + 1);
    if (!text.empty() && std::string_view("~^+*'").find(text.front()) != std::string_view::npos) {
      text.remove_prefix(1);
      return script_function(text, name.starts_with("Script") ? "(script)" : "(anonymous)");
    }
  }
  return {.function = std::string(name)};
}

} // namespace heaptape
