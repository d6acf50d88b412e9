#include "tape/text_table.h"

namespace heaptape {

std::uint64_t TextTable::number(std::string_view text) {
  if (text.empty()) return 0;
  text = text.substr(0, kMaxTableText);
  const auto [found, added] = numbers_.try_emplace(text, numbers_.size() + 1);
  if (added) ByteWriter(bytes_).text(text);
  return found->second;
}

void TextTable::write_to(ByteWriter& writer) const {
  writer.varint(numbers_.size());
  writer.bytes(bytes_);
}

std::vector<std::string_view> read_text_table(ByteReader& reader) {
  const std::uint64_t count = reader.varint();
  if (count > reader.remaining()) return {}; // each takes at least a byte
  std::vector<std::string_view> texts(1);
  for (std::uint64_t left = count; left != 0 && reader.ok(); --left) texts.push_back(reader.text());
  return texts;
}

} // namespace heaptape
