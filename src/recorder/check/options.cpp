#include "recorder/check/options.h"

#include <cstddef>

#include "recorder/check/failing_options.h"
#include "recorder/check/option_text.h"

namespace heaptape::recorder {

constinit CheckOptions g_check{};

namespace {

constexpr std::uint32_t kUsualSamples = 1000;

bool read_byte(const char* text, std::uint8_t& byte) noexcept {
  std::uint64_t number = 0;
  if (!read_number(text, 16, 0xff, number)) return false;
  byte = static_cast<std::uint8_t>(number);
  return true;
}

// Of the modes guard and sample.
bool read_guard_part(const char* part, CheckOptions& options) noexcept {
  if (const char* value = behind(part, "every="); value != nullptr && options.sample_every != 0) {
    std::uint64_t every = 0;
    if (!read_number(value, 10, 1'000'000'000, every) || every == 0) return false;
    options.sample_every = static_cast<std::uint32_t>(every);
    return true;
  }
  if (const char* value = behind(part, "align="); value != nullptr)
    return read_number(value, 10, 16, options.guard_alignment) && options.guard_alignment != 0 &&
           (options.guard_alignment & (options.guard_alignment - 1)) == 0;
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
  return false;
}

bool read_part(const char* part, CheckOptions& options) noexcept {
  if (const char* value = behind(part, "stomp="); value != nullptr) return read_byte(value, options.released_byte);
  if (const char* value = behind(part, "fill="); value != nullptr) {
    options.fill = !is_word(value, "none");
    return !options.fill || read_byte(value, options.fresh_byte);
  }
  if (const char* value = behind(part, "quarantine="); value != nullptr)
    return read_number(value, 10, std::uint64_t{1} << 40, options.quarantine_bytes);
  if (const char* value = behind(part, "sweep="); value != nullptr)
    return read_number(value, 10, std::uint64_t{1} << 36, options.sweep_bytes); // what a clock of 32 bits tells apart
  if (const char* value = behind(part, "on-error="); value != nullptr) {
    options.on_error = is_word(value, "stop")    ? OnError::Stop
                       : is_word(value, "abort") ? OnError::Abort
                                                 : OnError::Report;
    return options.on_error != OnError::Report || is_word(value, "report");
  }
  return options.fail ? read_failing_part(part, g_failing) : read_guard_part(part, options);
}

} // namespace

bool read_check_options(const char* text, CheckOptions& options) noexcept {
  options = CheckOptions{};
  options.full = is_word(text, "full");
  options.guard = is_word(text, "guard");
  options.fail = is_word(text, "fail");
  if (is_word(text, "sample")) options.sample_every = kUsualSamples;
  if (!options.full && !options.guard && !options.fail && options.sample_every == 0 && !is_word(text, "check"))
    return false;
  g_failing = FailingOptions{};
  for (const char* part = next_part(text); *part != 0; part = next_part(part)) {
    if (!read_part(part, options)) return false;
  }
  options.on = true;
  return true;
}

} // namespace heaptape::recorder
