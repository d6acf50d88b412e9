#include "base/characters.h"

#include <cstdio>

namespace heaptape {
namespace {

std::string escaped(std::string_view text, bool keep_lines) {
  std::string shown;
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::size_t bytes = character.bytes == 0 ? 1 : character.bytes;
    const bool kept = keep_lines && (text.front() == '\n' || text.front() == '\t' || text.starts_with("\r\n"));
    if (kept || (character.bytes != 0 && !is_obeyed(character.code))) {
      shown += text.substr(0, bytes);
    } else {
      char code[8]; // what is obeyed has at most four digits
      std::snprintf(code, sizeof code, bytes == 1 ? "\\x%02x" : "\\u%04x", character.code & 0xffffu);
      shown += code;
    }
    text.remove_prefix(bytes);
  }
  return shown;
}

} // namespace

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (bytes == 0 || bytes > text.size()) return {first, 0};
  std::uint32_t code = first & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {first, 0};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  const bool overlong = code < (bytes == 2 ? 0x80u : bytes == 3 ? 0x800u : 0x10000u);
  if (overlong || (code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff) return {first, 0};
  return {code, bytes};
}

std::string printable(std::string_view text) { return escaped(text, false); }
std::string printable_lines(std::string_view text) { return escaped(text, true); }

} // namespace heaptape
