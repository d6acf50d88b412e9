#include "recorder/check/failing_options.h"

#include <cstring>

#include "recorder/check/option_text.h"

namespace heaptape::recorder {

constinit FailingOptions g_failing{};

namespace {

constexpr std::uint64_t kMostNumber = std::uint64_t{1} << 48;

// Copies up to a comma or one of `ends`. False: there is no room, or nothing.
bool copy_name(const char* text, char (&name)[FunctionRange::kNameBytes]) noexcept {
  std::size_t length = 0;
  for (; text[length] != 0 && text[length] != ','; ++length) {
    if (length + 1 == sizeof name) return false;
    name[length] = text[length];
  }
  name[length] = 0;
  return length != 0;
}

// Up to, and moves `text` behind, the first character that is not a hexadecimal digit.
std::uint64_t take_address(const char*& text) noexcept {
  std::uint64_t address = 0;
  for (;; ++text) {
    const char c = *text;
    if (c >= '0' && c <= '9')
      address = address << 4 | static_cast<std::uint64_t>(c - '0');
    else if (c >= 'a' && c <= 'f')
      address = address << 4 | static_cast<std::uint64_t>(c - 'a' + 10);
    else
      return address;
  }
}

bool read_range(const char* text, FailingOptions& options) noexcept {
  if (options.range_count == FailingOptions::kMostRanges) return false;
  FunctionRange& range = options.ranges[options.range_count];
  range.begin = take_address(text);
  if (*text++ != '-') return false;
  range.end = take_address(text);
  range.object[0] = 0;
  if (*text == '@') {
    if (!copy_name(text + 1, range.object)) return false;
  } else if (*text != 0 && *text != ',') {
    return false;
  }
  ++options.range_count;
  return range.begin < range.end;
}

bool read_choice(const char* text, Chosen chosen, FailingOptions& options) noexcept {
  options.chosen = chosen;
  return read_number(text, 10, kMostNumber, options.number);
}

// A number that depends on all bits of both, and on nothing else (the end of splitmix64).
std::uint64_t mix(std::uint64_t seed, std::uint64_t number) noexcept {
  std::uint64_t x = seed * 0xd1b5'4a32'd192'ed03u + number * 0x9e37'79b9'7f4a'7c15u;
  x = (x ^ x >> 30) * 0xbf58'476d'1ce4'e5b9u;
  x = (x ^ x >> 27) * 0x94d0'49bb'1331'11ebu;
  return x ^ x >> 31;
}

} // namespace

bool read_failing_part(const char* part, FailingOptions& options) noexcept {
  if (const char* value = behind(part, "nth="); value != nullptr) {
    if (!read_choice(value, Chosen::Nth, options)) return false;
    if (options.number == 0) options.chosen = Chosen::None;
    return true;
  }
  if (const char* value = behind(part, "every="); value != nullptr)
    return read_choice(value, Chosen::Every, options) && options.number != 0;
  if (const char* value = behind(part, "chance="); value != nullptr) return read_choice(value, Chosen::Chance, options);
  if (const char* value = behind(part, "seed="); value != nullptr)
    return read_number(value, 10, kMostNumber, options.seed);
  if (const char* value = behind(part, "above="); value != nullptr)
    return read_number(value, 10, kMostNumber, options.above);
  if (const char* value = behind(part, "below="); value != nullptr)
    return read_number(value, 10, kMostNumber, options.below);
  if (const char* value = behind(part, "in="); value != nullptr) return copy_name(value, options.module);
  if (const char* value = behind(part, "from="); value != nullptr) return read_range(value, options);
  return false;
}

bool is_chosen(const FailingOptions& options, std::uint64_t number) noexcept {
  switch (options.chosen) {
  case Chosen::All: return true;
  case Chosen::None: return false;
  case Chosen::Nth: return number == options.number;
  case Chosen::Every: return number % options.number == 0;
  case Chosen::Chance: return mix(options.seed, number) >> 32 < options.number;
  }
  return false;
}

bool is_size_meant(const FailingOptions& options, std::uint64_t size) noexcept {
  return size > options.above && size < options.below;
}

bool is_object_called(const char* path, const char* name) noexcept {
  const char* last = path;
  for (const char* at = path; *at != 0; ++at) {
    if (*at == '/') last = at + 1;
  }
  const char* const rest = behind(last, name);
  if (rest == nullptr) return false;
  const std::size_t length = std::strlen(name);
  const bool has_suffix = length > 3 && behind(name + length - 3, ".so") != nullptr;
  return *rest == 0 || behind(rest, has_suffix ? "." : ".so") != nullptr;
}

} // namespace heaptape::recorder
