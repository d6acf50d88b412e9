// Every block that ever covered a stretch of memory, and every mapping of the program's own: what made it, what ended
// it, what came next. Needs no index, only the events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/heap/mapping_set.h"
#include "analysis/moment/tenant.h"
#include "tape/reader.h"

namespace heaptape {

// A piece of a mapping; what a munmap leaves of one counts as another piece.
struct MappingLife {
  MappingPiece piece;
  std::uint64_t closed_event = 0; // 0: it is still open
  std::uint64_t closed_us = 0;
};

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
