// What a tape holds besides events: plain values, as written by the collector and as read back.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "wire/event_kind.h"
#include "wire/memory_error.h"

namespace heaptape {

// Free-form facts about the run, by name. The names in use are listed in docs/tape-format.md: "command" (arguments,
// each terminated by a NUL byte), "program" (path), "pid", "ppid", "directory", "host", "kernel", "heaptape",
// "options", ...
using Meta = std::map<std::string, std::string>;

struct Segment {
  std::uint64_t address = 0; // in memory
  std::uint64_t size = 0;
  std::uint64_t file_offset = 0;
  std::uint32_t flags = 0; // PF_R, PF_W, PF_X
  friend bool operator==(const Segment&, const Segment&) = default;
};

struct Module {
  std::string path;
  std::vector<std::uint8_t> build_id;
  std::uint64_t load_bias = 0; // memory address minus ELF address
  std::uint64_t start = 0;     // first and one-past-last address
  std::uint64_t end = 0;
  std::uint64_t first_seen_us = 0;
  std::vector<Segment> segments;
  friend bool operator==(const Module&, const Module&) = default;
};

struct Thread {
  ThreadId id;
  std::uint32_t tid = 0; // the kernel's
  std::string name;
  std::uint64_t first_seen_us = 0;
  std::uint64_t ended_us = 0;  // 0: not known to have ended
  std::uint64_t stack_top = 0; // an address in the uppermost pages of its stack; 0: not known
  friend bool operator==(const Thread&, const Thread&) = default;
};

// One frame of a call stack: where it returns to, and the frame that called it. A stack is the path from its id to the
// root. Ids are dense, starting at 1; a parent's id is smaller than its children's.
struct StackNode {
  StackId parent; // 0: outermost
  std::uint64_t pc = 0;
  friend bool operator==(const StackNode&, const StackNode&) = default;
};

// A moment that the program named through <heaptape/heaptape.h>. The numbers are part of the tape format.
enum class MarkKind : std::uint8_t {
  Mark = 0,       // heaptape_mark()
  Snapshot = 1,   // heaptape_snapshot()
  Text = 2,       // heaptape_text(): words of the program, no moment to be named
  Number = 3,     // heaptape_number()
  CheckPoint = 4, // heaptape_checkpoint(); the value is the time that it printed, in seconds
  ScopeBegin = 5, // heaptape::scope; the names are "NAME begin" and "NAME end"
  ScopeEnd = 6,
};
inline constexpr std::size_t kMarkKinds = 7;
// A number that comes with a mark. The numbers are part of the tape format.
enum class MarkValue : std::uint8_t { None = 0, Integer = 1, Real = 2 };

struct Mark {
  std::string name{};
  std::string detail{};    // what came with the name: the values of a check point
  std::uint64_t event = 0; // the last one before it; 0: none
  std::uint64_t time_us = 0;
  ThreadId thread{};
  StackId stack{};
  MarkKind kind = MarkKind::Mark; // readers may meet others, of later versions
  MarkValue value = MarkValue::None;
  std::int64_t integer = 0; // with MarkValue::Integer
  double real = 0;          // with MarkValue::Real

  // The value from its number and bits; a sort that is not known is none.
  void set_value_bits(std::uint64_t sort, std::uint64_t bits) {
    value = sort <= static_cast<std::uint64_t>(MarkValue::Real) ? static_cast<MarkValue>(sort) : MarkValue::None;
    if (value == MarkValue::Integer) integer = static_cast<std::int64_t>(bits);
    if (value == MarkValue::Real) real = std::bit_cast<double>(bits);
  }
  friend bool operator==(const Mark&, const Mark&) = default;
};

// A set of blocks that lie inside other memory, as the program names it. Events name it by its number, from 1 on.
enum class PoolKind : std::uint8_t {
  Given = 0,    // heaptape_alloc()
  Function = 1, // what a function of --alloc-fn returns
};
struct Pool {
  std::uint32_t number = 0;
  PoolKind kind = PoolKind::Given; // readers may meet others, of later versions
  std::string name{};
  friend bool operator==(const Pool&, const Pool&) = default;
};

// A call that an allocator cannot do what was meant with, or that got no memory. The numbers are part of the tape format.
enum class OddKind : std::uint8_t {
  Failed = 1,     // it asked for memory and got none
  NotLive = 2,    // it released or reallocated an address at which no block was live
  Mismatch = 3,   // it released a block that functions of another family made
  WrongSize = 4,  // it released a block and gave another size than the block has
  Unfinished = 5, // a realloc of an address at which no block was live; it never returned, or gave nothing
};
struct OddCall {
  OddKind kind = OddKind::Failed;   // readers may meet others, of later versions
  EventKind call = EventKind::None; // the function; readers may meet others
  std::uint64_t event = 0; // the call itself; for Failed and Unfinished, which are no events, the last one before it
  std::uint64_t time_us = 0;
  ThreadId thread{};
  StackId stack{};
  std::uint64_t address = 0;       // that was given to it; 0: none
  std::uint64_t size = 0;          // that was given to it; 0: none. The largest number: that or more
  std::uint64_t maker = 0;         // Mismatch and WrongSize: the event that made the block
  std::uint64_t block_size = 0;    // and the block's size
  Family family = Family::Unknown; // and its family; readers may meet others
  std::uint32_t error = 0;         // errno of a call that failed; 0: not known
  friend bool operator==(const OddCall&, const OddCall&) = default;
};
struct OddCalls {
  std::vector<OddCall> calls; // in the order of the events
  std::uint64_t left_out = 0; // those for which there was no room
  friend bool operator==(const OddCalls&, const OddCalls&) = default;
};
// Whether `event` is the call itself, not the last event before it.
constexpr bool is_event(OddKind kind) { return kind != OddKind::Failed && kind != OddKind::Unfinished; }

// What the checks in the program have found (wire/memory_error.h).
struct MemoryError {
  ErrorSort sort = ErrorSort::None; // readers may meet others, of later versions
  FoundAt found = FoundAt::Unknown; // readers may meet others
  std::uint8_t expected = 0;        // what the bytes should have been
  std::uint64_t event = 0;          // the last one before it was found; 0: none
  std::uint64_t time_us = 0;
  ThreadId thread{};
  StackId stack{};
  std::uint64_t address = 0; // of the first wrong byte, or where the access begins
  std::uint64_t length = 0;  // to the last wrong byte, or of the access; WrongAlignment: the block's alignment
  std::uint64_t block = 0;   // the block that it is about; 0: none
  std::uint64_t block_size = 0;
  std::uint64_t given = 0;    // WrongAlignment: what the call said
  std::uint64_t whole_us = 0; // when it was last seen to be whole; 0: when it was made or released
  std::string bytes{};        // the first of the wrong bytes, at most wire::kErrorBytes
  std::string function{};     // FoundAt::Call: the function of libc
  friend bool operator==(const MemoryError&, const MemoryError&) = default;
};
// The most that a reader takes from one tape.
inline constexpr std::size_t kMostMemoryErrors = std::size_t{1} << 16;
struct MemoryErrors {
  std::string mode{};                // of the checks: "check", "full", ...; empty: the program ran without
  std::vector<MemoryError> errors{}; // in the order in which they were found
  std::uint64_t left_out = 0;        // those for which there was no room
  friend bool operator==(const MemoryErrors&, const MemoryErrors&) = default;
};

// The program as the kernel saw it at one moment.
struct Sample {
  std::uint64_t time_us = 0;
  std::uint64_t rss_bytes = 0;
  std::uint64_t anonymous_bytes = 0;
  std::uint64_t virtual_bytes = 0;
  std::uint64_t cpu_us = 0; // user + system, all threads
  std::uint32_t threads = 0;
  friend bool operator==(const Sample&, const Sample&) = default;
};

// How the program ended, as far as known.
enum class Ending : std::uint8_t {
  Unknown = 0,
  Exited = 1,           // detail: exit status
  Killed = 2,           // detail: signal
  Replaced = 3,         // it called exec; the recording ends there
  CollectorStopped = 4, // the tape ends before the program; note says why
};

// As a program reads it: "exited", "killed", ...
constexpr const char* ending_name(Ending ending) {
  switch (ending) {
  case Ending::Exited: return "exited";
  case Ending::Killed: return "killed";
  case Ending::Replaced: return "replaced";
  case Ending::CollectorStopped: return "collector stopped";
  case Ending::Unknown: break;
  }
  return "unknown";
}

// Written once, when a recording is finished in good order.
struct Summary {
  std::uint64_t events = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(EventKind::TapeKinds)> per_kind{};
  std::uint64_t duration_us = 0;
  std::uint64_t allocated_bytes = 0; // ever, over all heap kinds (not mappings)
  std::uint64_t allocated_blocks = 0;
  std::uint64_t live_bytes = 0; // at the end
  std::uint64_t live_blocks = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t peak_event = 0; // the first event after which live bytes were at the peak
  std::uint64_t peak_us = 0;
  std::uint64_t unknown_releases = 0;          // of blocks that were not allocated on this tape
  std::uint64_t reordered = 0;                 // events put back in order because two cores' clocks disagreed
  std::map<std::string, std::uint64_t> losses; // by name, only those that are not 0
  Ending ending = Ending::Unknown;
  std::int32_t ending_detail = 0;
  std::string note; // for the user; empty when all went well
  friend bool operator==(const Summary&, const Summary&) = default;
};

} // namespace heaptape
