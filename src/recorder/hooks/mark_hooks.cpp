// What <heaptape/heaptape.h> calls.
#include <cstdint>

#include "recorder/core/events.h"
#include "recorder/hooks/hook.h"

namespace heaptape::recorder {

namespace {

constexpr std::uint64_t kLongest = 240;
constexpr std::uint64_t kHalf = 6; // bytes of text in each of address and size

// Up to six bytes of the text, from `at`, as a number; `end` is the text's length.
std::uint64_t six_bytes(const char* text, std::uint64_t at, std::uint64_t end) noexcept {
  std::uint64_t value = 0;
  for (std::uint64_t i = 0; i < kHalf && at + i < end; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(text[at + i])} << (8 * i);
  }
  return value;
}

} // namespace

} // namespace heaptape::recorder

using namespace heaptape;
using namespace heaptape::recorder;

HT_HOOK void heaptape_recorder_mark(const char* name, unsigned kind) {
  if (!is_attached()) return;
  const Frame site = HT_CALL_SITE();
  std::uint64_t length = 0;
  if (name != nullptr)
    while (length < kLongest && name[length] != '\0') ++length;
  for (std::uint64_t at = 0; at < length; at += 2 * kHalf) {
    (void)record(EventKind::MarkText, six_bytes(name, at, length), six_bytes(name, at + kHalf, length), site, false);
  }
  (void)record(EventKind::Mark, length, kind, site, true);
}
