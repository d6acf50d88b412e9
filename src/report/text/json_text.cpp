#include "report/text/json_text.h"

#include "base/characters.h"
#include "base/format_into.h"

namespace heaptape {
void append_json_string(fmt::memory_buffer& out, std::string_view text) {
  const auto put = [&](std::string_view piece) { out.append(piece.data(), piece.data() + piece.size()); };
  out.push_back('"');
  while (!text.empty()) {
    const char c = text.front();
    const Character character = first_character(text);
    const std::size_t length = character.bytes == 0 ? 1 : character.bytes;
    if (character.bytes == 0) {
      put("\xef\xbf\xbd");
    } else if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (is_obeyed(character.code)) {
      format_into(out, "\\u{:04x}", character.code);
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
