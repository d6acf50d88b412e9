#include "report/text/json_writer.h"

#include "base/number_text.h"

namespace heaptape {
namespace {

// Bytes of the UTF-8 character at the start of the text; 0: it is none. Surrogates and overlong forms are none.
std::size_t character_bytes(std::string_view text) {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i) { return (at(i) & 0xc0) == 0x80; };
  const unsigned first = at(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool second = follows(1) && !(first == 0xe0 && at(1) < 0xa0) && !(first == 0xed && at(1) > 0x9f);
    return second && follows(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool second = follows(1) && !(first == 0xf0 && at(1) < 0x90) && !(first == 0xf4 && at(1) > 0x8f);
    return second && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

void append_quoted(std::string& out, std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  out += '"';
  while (!text.empty()) {
    const std::size_t size = character_bytes(text);
    const auto byte = static_cast<unsigned char>(text[0]);
    if (size == 0)
      out += "\\ufffd";
    else if (byte == '"' || byte == '\\')
      out.append(1, '\\').append(1, text[0]);
    else if (byte < 0x20 || byte == 0x7f)
      out.append("\\u00").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
    else
      out += text.substr(0, size);
    text.remove_prefix(size == 0 ? 1 : size);
  }
  out += '"';
}

} // namespace

void JsonWriter::separate() {
  if (!first_) text_ += ',';
  first_ = false;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  text_ += bracket;
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  text_ += bracket;
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_quoted(text_, name);
  text_ += ':';
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_quoted(text_, text);
  return *this;
}

JsonWriter& JsonWriter::value(double number, int places) { return raw(decimal_text(number, places)); }

JsonWriter& JsonWriter::raw(std::string_view text) {
  separate();
  text_ += text;
  return *this;
}

} // namespace heaptape
