// Every block that ever covered a stretch of memory, and every mapping of the program's own: what made it, what ended
// it, what came next. Needs no index, only the events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/heap/mapping_set.h"
#include "analysis/index/answers.h"
#include "tape/reader.h"

namespace heaptape {

// [begin, end), not empty.
struct MemoryRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  // Whether a block shares a byte with it. A zero-byte block still owns its address.
  bool meets(std::uint64_t address, std::uint64_t size) const {
    const std::uint64_t bytes = size == 0 ? 1 : size;
    return address < end && (address >= begin || begin - address < bytes);
  }
};

// How a block's life ended.
enum class LifeEnd : std::uint8_t {
  Live,        // not up to the moment asked about
  Released,    // free, delete, ..., or realloc to nothing
  Reallocated, // replaced by another block, maybe at the same place
  Unseen,      // another block was made over it, so it ended before; its release is not on the tape
};

// A block that covered some of the range, from when to when.
struct Tenant {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  EventKind kind = EventKind::None; // of the event that made it
  std::uint64_t event = 0;
  std::uint64_t time_us = 0;
  Owner owner{};
  std::uint64_t from = 0; // a realloc made it of the block at this address; 0: it did not

  LifeEnd ended = LifeEnd::Live;
  EventKind end_kind = EventKind::None;
  std::uint64_t end_event = 0; // of Unseen: the one that made the other block
  std::uint64_t end_us = 0;
  Owner ender{};        // stack and thread of that event
  std::uint64_t to = 0; // Reallocated: where its successor is

  friend bool operator==(const Tenant&, const Tenant&) = default;
};

// A piece of a mapping; what a munmap leaves of one counts as another piece.
struct MappingLife {
  MappingPiece piece;
  std::uint64_t closed_event = 0; // 0: it is still open
  std::uint64_t closed_us = 0;
};

// Of releases where no block began, the first are kept: a program that goes on after a hundred of them is beyond help.
inline constexpr std::size_t kMostBadReleases = 100;

struct HistoryQuery {
  MemoryRange range;
  std::uint64_t until = ~std::uint64_t{0}; // the last event that counts
  std::size_t most = 1000;                 // ended lives to keep: the latest. Live blocks come on top
  std::function<bool()> should_stop{};     // asked now and then
};
struct History {
  std::vector<Tenant> lives{}; // in the order in which they began
  std::uint64_t earlier = 0;   // that began before these and are not kept
  std::vector<MappingLife> mappings{};
  std::vector<Event> bad_releases{}; // of addresses in the range where no block of the tape began; the first hundred
  std::vector<Damage> damage{};      // chunks of events that could not be read: lives may be missing
  bool stopped = false;              // should_stop() said so: lives are missing at the end
};
// Reads all events up to query.until.
History history_of(const TapeReader& tape, const HistoryQuery& query);

} // namespace heaptape
