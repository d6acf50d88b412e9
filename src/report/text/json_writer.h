// Writes JSON piece by piece: commas and quotes are its business, balance is the caller's.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace heaptape {

class JsonWriter {
public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  // Bytes that are not UTF-8 become U+FFFD.
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool yes) { return raw(yes ? "true" : "false"); }
  template <std::integral Number>
  JsonWriter& value(Number number) {
    return raw(std::to_string(number));
  }
  JsonWriter& value(double number, int places);
  // Digits as JSON writes them.
  JsonWriter& number(std::string_view digits) { return raw(digits); }
  JsonWriter& null() { return raw("null"); }

  template <class... Value>
  JsonWriter& field(std::string_view name, Value... of) {
    return key(name).value(of...);
  }

  const std::string& text() const { return text_; }

private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  JsonWriter& raw(std::string_view text);
  void separate();

  std::string text_;
  bool first_ = true; // nothing stands in the innermost object or array yet, or a key does
};

} // namespace heaptape
