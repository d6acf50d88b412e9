// One entry of a list of memory errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/moment/odd_findings.h"
#include "analysis/moment/tenant.h"
#include "report/select/suppressions.h"
#include "tape/contents.h"

namespace heaptape {

enum class ErrorKind : std::uint8_t {
  WriteBehind,  // found later, by the bytes that were written
  WriteBefore,  // ...
  WriteFreed,   // ...
  ReadOutside,  // found at the access itself, or in the call that was about to do it
  WriteOutside, // ...
  ReadFreed,
  WriteIntoFreed,
  WrongAlignment, // releases
  DoubleFree,
  FreeInside,
  FreeOfStack,
  FreeOfStatic,
  FreeOfForeign, // of what was never a block; only where everything was recorded
  Mismatch,
  WrongSize,
  Other, // only a newer heaptape knows what it is
};
inline constexpr std::size_t kErrorKinds = 16;

// As programs read it: "write-behind", "double-free", ...
const char* error_kind_name(ErrorKind kind);
// The bytes tell of a write that was not seen.
constexpr bool is_damage(ErrorKind kind) {
  return kind == ErrorKind::WriteBehind || kind == ErrorKind::WriteBefore || kind == ErrorKind::WriteFreed;
}
constexpr bool is_access(ErrorKind kind) { return kind <= ErrorKind::WriteIntoFreed; }
SuppressionOf suppression_of(ErrorKind kind);

// The first of the errors that have one cause, and how many there are.
struct ErrorContext {
  std::uint64_t number = 0; // in the list, from 1
  ErrorKind kind = ErrorKind::Other;
  std::uint64_t count = 0;
  std::uint64_t last_event = 0; // of the last of them, as found.event
  // What the checks have found. Of a wrong release the event, the time, the thread, the stack, the address and the block are here, too.
  MemoryError found{};
  std::optional<OddFinding> release{};      // a wrong release
  std::optional<Tenant> block{};            // that it is about, where the tape knows its life
  std::vector<Tenant> former{};             // who had its memory before, the latest first
  std::optional<Tenant> before{}, behind{}; // live blocks beside it

  // The event is the error itself, not the last one before it was found.
  bool is_event() const { return release && heaptape::is_event(release->call.kind); }
};

} // namespace heaptape
