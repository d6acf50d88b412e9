// Moments of a tape as people write them:
//
//   1234              after event 1234             peak              when most was live
//   12.5s 200ms 2min  so long after the start      NAME              a mark of the program's own
//   ^ or start        before the first event       $ or end          after the last
//   total-peak        when most was live and mapped together
//   @                 the cursor                   +N -N +2s -50ms   so far from the cursor
//   snapshot:2             a snapshot by its number     snapshot:NAME       or by its name; also with a space
//   @2 @NAME               the same in short
//   first snapshot, last snapshot                  of all that the tape has
//   next snapshot, previous snapshot               the same, seen from the cursor; "snapshot" is the next one.
//
// and sums of these: @-5, peak+1, $-100, 'loaded'+20ms. Marks whose names would be read as something else are written
// in single quotes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tape/contents.h"

namespace heaptape {

class TapeReader;

// A point between two events.
struct Moment {
  std::uint64_t event = 0; // the last one before it
  std::uint64_t time_us = 0;
  std::string label{};        // as the user named it
  std::uint64_t snapshot = 0; // number of the snapshot of memory that was named; 0: none was
};

// What positions are counted from. The parts must outlive it.
struct PositionPoints {
  const TapeReader& tape;
  const std::vector<Mark>& marks;
  Moment peak{};
  Moment total_peak{};            // of heap and own mappings together
  Moment end{};                   // nothing is behind it
  std::optional<Moment> cursor{}; // none: there is no cursor, and @, +N and -N are refused
};

// Whether a mark of this name is found only when it is written in single quotes: "end", "12.5s", "0", "+1" and "snapshot" mean something in every tape.
bool needs_quotes(std::string_view mark);

// Moments before the start and behind the end are refused.
Result<Moment> find_position(std::string_view text, const PositionPoints& points);

} // namespace heaptape
