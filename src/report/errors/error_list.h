// The memory errors of a program, one per cause: what the checks in it have found (`heaptape check`), and releases that were wrong, which
// every tape knows of. Errors that were found by the same call about blocks of the same origin are one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/moment/block_surroundings.h"
#include "analysis/moment/odd_findings.h"
#include "report/select/suppressions.h"
#include "report/view/tape_view.h"
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

struct ErrorList {
  bool checked = false;                 // the program ran with checks
  std::string mode{};                   // of the checks
  std::vector<ErrorContext> contexts{}; // by first occurrence; without those that are suppressed
  std::uint64_t errors = 0;             // in them
  std::uint64_t suppressed_errors = 0, suppressed_contexts = 0;
  std::uint64_t left_out = 0; // errors that were counted, but not kept or not looked into
  bool stopped = false;       // should_stop() said so: it may not be complete
};

struct FindErrors {
  Suppressions* suppressions = nullptr; // what they match is counted there
  std::function<bool()> should_stop{};  // asked now and then
};

// Reads the events of the tape only where there are errors, and then at most twice, however many errors there are. The list refers to the
// tape, which must outlive it.
ErrorList find_errors(const TapeView& view, const FindErrors& options = {});
// The same of other memory errors than the tape's.
ErrorList find_errors(const TapeView& view, const MemoryErrors& memory, const FindErrors& options);

} // namespace heaptape
