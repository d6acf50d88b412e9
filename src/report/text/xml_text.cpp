#include "report/text/xml_text.h"

#include <cstddef>

namespace heaptape {
namespace {

// How many bytes the well-formed character at the front has; 0: it is none.
std::size_t utf8_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t size = byte(0) < 0xc2 ? 0 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : byte(0) < 0xf5 ? 4 : 0;
  if (size == 0 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // C1 controls, encodings that are longer than need be, surrogates, what lies beyond Unicode, and U+FFFE and U+FFFF.
  const bool odd = (byte(0) == 0xc2 && byte(1) < 0xa0) || (byte(0) == 0xe0 && byte(1) < 0xa0) ||
                   (byte(0) == 0xed && byte(1) >= 0xa0) || (byte(0) == 0xf0 && byte(1) < 0x90) ||
                   (byte(0) == 0xf4 && byte(1) >= 0x90) || (byte(0) == 0xef && byte(1) == 0xbf && byte(2) >= 0xbe);
  return odd ? 0 : size;
}

} // namespace

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const auto code = static_cast<unsigned char>(c);
    const std::size_t wide = code < 128 ? 0 : utf8_bytes(text.substr(i));
    if (wide != 0)
      out += text.substr(i, wide);
    else if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += code >= 32 && code < 127 ? c : '?';
    i += wide != 0 ? wide : 1;
  }
  return out;
}

} // namespace heaptape
