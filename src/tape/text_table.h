// Texts of a payload, each stored once and named by its number: 1, 2, ... in order of appearance; 0 is the empty text.
//
//   varint    how many there are
//   text ...  length and bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/byte_cursor.h"

namespace heaptape {

// Longer texts are cut, so that a payload stays within its limit whatever a compiler wrote.
inline constexpr std::size_t kMaxTableText = std::size_t{64} << 10;

// A table being filled. The texts must outlive it.
class TextTable {
public:
  std::uint64_t number(std::string_view text);
  // Of the texts so far, with their lengths.
  std::size_t bytes() const { return bytes_.size(); }

  void write_to(ByteWriter& writer) const;

private:
  std::vector<std::byte> bytes_;
  std::unordered_map<std::string_view, std::uint64_t> numbers_;
};

// The texts by their numbers, [0] included; they point into the payload. Takes hostile bytes: empty when they make no sense.
std::vector<std::string_view> read_text_table(ByteReader& reader);

} // namespace heaptape
