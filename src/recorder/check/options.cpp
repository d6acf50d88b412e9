#include "recorder/check/options.h"

#include <cstddef>

namespace heaptape::recorder {

constinit CheckOptions g_check{};

namespace {

constexpr std::uint32_t kUsualSamples = 1000;

// Behind `name` in `text`, if it begins with that and ends there; else null.
const char* behind(const char* text, const char* name) noexcept {
  while (*name != 0 && *text == *name) {
    ++text;
    ++name;
  }
  return *name == 0 ? text : nullptr;
}
bool is_word(const char* text, const char* word) noexcept {
  const char* const end = behind(text, word);
  return end != nullptr && (*end == 0 || *end == ',');
}
const char* next_part(const char* text) noexcept {
  while (*text != 0 && *text != ',') ++text;
  return *text == ',' ? text + 1 : text;
}

bool read_number(const char* text, std::uint64_t base, std::uint64_t most, std::uint64_t& number) noexcept {
  number = 0;
  const char* at = text;
  for (; *at != 0 && *at != ','; ++at) {
    const char c = *at;
    std::uint64_t digit = base;
    if (c >= '0' && c <= '9') digit = static_cast<std::uint64_t>(c - '0');
    if (c >= 'a' && c <= 'f') digit = static_cast<std::uint64_t>(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') digit = static_cast<std::uint64_t>(c - 'A') + 10;
    if (digit >= base || number > (most - digit) / base) return false;
    number = number * base + digit;
  }
  return at != text;
}

bool read_byte(const char* text, std::uint8_t& byte) noexcept {
  std::uint64_t number = 0;
  if (!read_number(text, 16, 0xff, number)) return false;
  byte = static_cast<std::uint8_t>(number);
  return true;
}

bool read_part(const char* part, CheckOptions& options) noexcept {
  if (const char* value = behind(part, "stomp="); value != nullptr) return read_byte(value, options.released_byte);
  if (const char* value = behind(part, "fill="); value != nullptr) {
    options.fill = !is_word(value, "none");
    return !options.fill || read_byte(value, options.fresh_byte);
  }
  if (const char* value = behind(part, "quarantine="); value != nullptr)
    return read_number(value, 10, std::uint64_t{1} << 40, options.quarantine_bytes);
  if (const char* value = behind(part, "every="); value != nullptr) {
    std::uint64_t every = 0;
    if (!read_number(value, 10, 1'000'000'000, every) || every == 0) return false;
    options.sample_every = static_cast<std::uint32_t>(every);
    return true;
  }
  if (const char* value = behind(part, "from="); value != nullptr)
    return read_number(value, 10, ~std::uint64_t{0}, options.guard_from);
  if (const char* value = behind(part, "to="); value != nullptr)
    return read_number(value, 10, ~std::uint64_t{0}, options.guard_to);
  if (const char* value = behind(part, "side="); value != nullptr) {
    options.guard_side = is_word(value, "left")     ? GuardSide::Left
                         : is_word(value, "random") ? GuardSide::Random
                                                    : GuardSide::Right;
    return options.guard_side != GuardSide::Right || is_word(value, "right");
  }
  if (const char* value = behind(part, "on-error="); value != nullptr) {
    options.on_error = is_word(value, "stop")    ? OnError::Stop
                       : is_word(value, "abort") ? OnError::Abort
                                                 : OnError::Report;
    return options.on_error != OnError::Report || is_word(value, "report");
  }
  return false;
}

} // namespace

bool read_check_options(const char* text, CheckOptions& options) noexcept {
  options = CheckOptions{};
  options.full = is_word(text, "full");
  options.guard = is_word(text, "guard");
  if (is_word(text, "sample")) options.sample_every = kUsualSamples;
  if (!options.full && !options.guard && options.sample_every == 0 && !is_word(text, "check")) return false;
  for (const char* part = next_part(text); *part != 0; part = next_part(part)) {
    if (!read_part(part, options)) return false;
  }
  options.on = true;
  return true;
}

} // namespace heaptape::recorder
