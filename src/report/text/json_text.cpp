#include "report/text/json_text.h"

#include <cstddef>
#include <cstdint>

#include "base/format_into.h"

namespace heaptape {
namespace {

// Length of the UTF-8 sequence at the start of `text`, 0 when there is no valid one (overlong forms, surrogates and
// numbers beyond Unicode included).
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (first == 0xe0 && byte(1) < 0xa0) return 0;
  if (first == 0xed && byte(1) > 0x9f) return 0;
  if (first == 0xf0 && byte(1) < 0x90) return 0;
  if (first == 0xf4 && byte(1) > 0x8f) return 0;
  return length;
}

} // namespace

void append_json_string(fmt::memory_buffer& out, std::string_view text) {
  const auto put = [&](std::string_view piece) { out.append(piece.data(), piece.data() + piece.size()); };
  out.push_back('"');
  while (!text.empty()) {
    const char c = text.front();
    std::size_t length = sequence_length(text);
    if (length == 0) {
      put("\xef\xbf\xbd");
      length = 1;
    } else if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      format_into(out, "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      put(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  out.push_back('"');
}

std::string json_string(std::string_view text) {
  fmt::memory_buffer out;
  append_json_string(out, text);
  return fmt::to_string(out);
}

} // namespace heaptape
