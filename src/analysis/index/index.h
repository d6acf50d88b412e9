// The index of a tape: the findings of one pass over all its events, and keyframes from which any moment is near. Kept at the end
// of the tape, so that the pass is made once. How it is stored is in docs/tape-format.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/index/findings.h"
#include "analysis/index/keyframe_place.h"
#include "base/result.h"
#include "tape/appender.h"
#include "tape/reader.h"

namespace heaptape {

struct Index {
  Findings findings;
  std::vector<Keyframe> keyframes; // by event
};

// Called now and then with the number of events done and of all events; at last with both the same.
using Progress = std::function<void(std::uint64_t done, std::uint64_t all)>;

struct MakeIndex {
  Progress progress{};
  // A keyframe is made after this many events, once the tape has grown by this many times the keyframe's size; but in any case after four
  // times as many events, or eight for each live block if that is more. So a seek replays few events, and the keyframes stay a small part of the tape.
  std::uint64_t events_apart = std::uint64_t{1} << 20;
  std::uint64_t sizes_apart = 6;
};

enum class IndexState : std::uint8_t {
  Good,
  Absent,
  Damaged, // it cannot be read
  Stale,   // it tells of other events than the tape holds
};
struct FoundIndex {
  IndexState state = IndexState::Absent;
  Index index; // when Good
};

// The index on the tape, without its events being read.
FoundIndex load_index(const TapeReader& tape);

// Makes the index in one pass and keeps it in memory, keyframes included as far as 64 MiB go.
Index build_index(const TapeReader& tape, const MakeIndex& options = {});

// Makes the index in one pass and appends it to the tape. An index that is there already stays, but is not found any more. Refuses
// a tape whose recording has not ended (Unsupported), that may not be written to (Denied), or that somebody else is writing to (Exists);
// an Error leaves a good tape.
Result<> append_index(const TapeToFinish& tape, const MakeIndex& options = {});

struct IndexedTape {
  TapeReader tape;
  Index index;
  IndexState found = IndexState::Good; // before it was opened
  bool on_tape = true;                 // false: the index is in memory only
};
struct OpenIndexed {
  bool append = true; // write an index that had to be made to the tape, if that is possible
  MakeIndex make{};
};
// Opens a tape with an index, making one when there is no good one.
Result<IndexedTape> open_indexed_tape(const std::string& path, const OpenIndexed& options = {});
// The same for a tape that was opened from this path.
Result<IndexedTape> with_index(TapeReader tape, const std::string& path, const OpenIndexed& options = {});

} // namespace heaptape
