#include "analysis/index.h"

#include "analysis/replay.h"
#include "analysis/timeline_builder.h"

namespace heaptape {

FoundIndex load_index(const TapeReader&) { return {}; }

Index build_index(const TapeReader& tape, const Progress& progress) {
  ReplayOptions options;
  options.events = tape.event_count();
  if (!tape.event_blocks().empty()) options.end_us = tape.event_blocks().back().last_us;
  Replay replay(options);
  EventCursor cursor = tape.events();
  for (auto run = cursor.next_run(); !run.empty(); run = cursor.next_run()) {
    replay.apply(run);
    if (progress) progress(replay.state().totals().events, tape.event_count());
  }
  Index index;
  index.answers = replay.finish();
  join_samples(index.answers.timeline, tape.samples());
  return index;
}

Result<IndexedTape> open_indexed_tape(const std::string& path, const OpenIndexed& options) {
  auto tape = TapeReader::open(path);
  if (!tape) return tape.error();
  Index index = build_index(tape.value(), options.progress);
  return IndexedTape{std::move(tape).value(), std::move(index), IndexState::Absent, false};
}

} // namespace heaptape
