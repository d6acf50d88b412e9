#include <array>

#include <fmt/format.h>

#include "base/number_text.h"
#include "shell/describe.h"
#include "shell/explain.h"

namespace heaptape {
namespace {

struct Pattern4 {
  std::uint32_t word;
  const char* meaning;
};
// What fills memory where nothing should be read.
constexpr std::array kPatterns{
    Pattern4{0xdeadbeef, "a mark for memory that must not be used"},
    Pattern4{0xbaadf00d, "a mark for memory that was never written"},
    Pattern4{0xfeeefeee, "a mark for freed memory"},
    Pattern4{0xcafebabe, "a mark for memory that must not be used"},
    Pattern4{0xdeadc0de, "a mark for memory that must not be used"},
};
struct PatternByte {
  std::uint8_t byte;
  const char* meaning;
};
constexpr std::array kBytes{
    PatternByte{0xa5, "new memory as jemalloc's and FreeBSD's junk filling leaves it"},
    PatternByte{0x5a, "freed memory as jemalloc's junk filling leaves it"},
    PatternByte{0xbd, "released memory as heaptape check fills it"},
    PatternByte{0xbe, "memory that was never written, as heaptape check and AddressSanitizer fill it"},
    PatternByte{0xcd, "new memory as debug heaps fill it, or Python's debug allocator"},
    PatternByte{0xdd, "freed memory as debug heaps fill it, or Python's debug allocator"},
    PatternByte{0xfd, "the space between blocks as heaptape check and debug heaps fill it"},
    PatternByte{0xcc, "a local variable that was never set, as debug builds fill it"},
    PatternByte{0xaa, "memory that was never set, as -ftrivial-auto-var-init=pattern and Zig fill it"},
    PatternByte{0xfe, "memory that was never set, as -ftrivial-auto-var-init=pattern fills it"},
    PatternByte{0xff, "-1, an error code used as a pointer"},
};

bool all_bytes(std::uint64_t address, std::uint64_t byte) { return address == byte * 0x0101'0101'0101'0101u; }

// A small offset from a pattern is a field of what a poisoned pointer points at.
std::string poison(std::uint64_t address) {
  for (const PatternByte& pattern : kBytes) {
    const std::uint64_t whole = pattern.byte * 0x0101'0101'0101'0101u;
    if (address >= whole ? address - whole < 4096 : pattern.byte == 0xff && whole - address < 4096) {
      const std::uint64_t offset = address - whole;
      const bool at = all_bytes(address, pattern.byte) || pattern.byte == 0xff;
      return fmt::format("{:02x} repeated{}: {}", pattern.byte, at ? "" : " +" + std::to_string(offset),
                         pattern.meaning);
    }
  }
  for (const Pattern4& pattern : kPatterns) {
    const std::uint64_t twice = std::uint64_t{pattern.word} << 32 | pattern.word;
    for (const std::uint64_t whole : {twice, std::uint64_t{pattern.word}}) {
      if (address >= whole && address - whole < 4096) {
        const std::uint64_t offset = address - whole;
        return fmt::format("{:x}{}: {}", pattern.word, offset != 0 ? " +" + std::to_string(offset) : "",
                           pattern.meaning);
      }
    }
  }
  return {};
}

// At least six characters, and nothing behind the first zero.
std::string characters(std::uint64_t address) {
  std::string text;
  for (unsigned i = 0; i < 8; ++i) {
    const auto c = static_cast<char>(address >> (8 * i) & 0xff);
    if (c == 0) {
      if (address >> (8 * i) != 0) return {};
      break;
    }
    if (c < 0x20 || c > 0x7e) return {};
    text += c;
  }
  return text.size() >= 6 ? text : std::string();
}

} // namespace

OddAddress odd_address(std::uint64_t address) {
  if (address == 0) return {AddressKind::Null, "the null pointer"};
  if (address < 0x10000) {
    return {AddressKind::Null,
            fmt::format("null + {}: a field at offset {} of an object at null, or an element of an array at null",
                        with_separators(address), hex(address))};
  }
  if (const std::string meaning = poison(address); !meaning.empty())
    return {AddressKind::Poison, "not an address but a pattern, " + meaning};
  if (const std::string text = characters(address); !text.empty()) {
    return {AddressKind::Text, "not an address but text, \"" + text + "\": a pointer was overwritten by characters"};
  }
  if (address >> 47 != 0) {
    const char* const what = address >> 47 == 0x1ffff
                                 ? "an address of the kernel's half, which programs cannot use"
                                 : "not an address on this machine (not canonical): a damaged pointer";
    return {AddressKind::NotCanonical, what};
  }
  return {};
}

} // namespace heaptape
