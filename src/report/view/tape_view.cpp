#include "report/view/tape_view.h"

#include <algorithm>

#include "analysis/moment/inherit.h"

namespace heaptape {

Result<TapeView> TapeView::open(const std::string& path, const OpenView& options) {
  Result<TapeReader> tape = TapeReader::open(path);
  if (!tape) return tape.error();
  return open(std::move(tape).value(), path, options);
}

Result<TapeView> TapeView::open(TapeReader opened, const std::string& path, const OpenView& options) {
  std::vector<Pattern> plumbing;
  for (const std::string& expression : options.plumbing) {
    Result<Pattern> pattern = Pattern::compile(expression);
    if (!pattern) return pattern.error();
    plumbing.push_back(std::move(pattern).value());
  }
  // What a forked program has from its parent is put onto its tape at the end; until then the parent's tape tells it.
  if (!opened.summary()) (void)inherit_for_now(opened, path);
  OpenIndexed how;
  how.make.progress = options.index_progress;
  Result<IndexedTape> indexed = with_index(std::move(opened), path, how);
  if (!indexed) return indexed.error();
  auto parts = std::unique_ptr<Parts>(new Parts{.path = path, .indexed = std::move(indexed).value(), .found = {}});
  const TapeReader& tape = parts->indexed.tape;
  const Symbols* symbols = &tape.symbols();
  if (symbols->empty()) {
    parts->found = symbolize_tape(tape, options.symbols).symbols;
    parts->symbolized_here = !parts->found.empty();
    parts->nameless = parts->found.empty() && tape.stacks().size() > 1;
    symbols = &parts->found;
  }
  parts->names = std::make_unique<StackNames>(tape.modules(), tape.stacks(), *symbols, options.names);
  parts->names->set_plumbing(std::move(plumbing));
  parts->marks = tape.marks();
  parts->damage = damage_of(tape);
  return TapeView(std::move(parts));
}

std::uint64_t TapeView::uncounted_events() const {
  const std::uint64_t gone = damage().all_events - std::min(damage().all_events, tape().event_count());
  return gone + findings().unread_events;
}

PositionPoints TapeView::points() const {
  const auto& blocks = tape().event_chunks();
  const std::uint64_t last = blocks.empty() ? 0 : blocks.back().last_number();
  const HeapTotals& totals = findings().totals;
  const Moment peak{totals.peak_event, totals.peak_us};
  const auto& total_peak = findings().total_peak;
  return {.tape = tape(),
          .marks = marks(),
          .peak = peak,
          .total_peak = total_peak ? Moment{total_peak->event, total_peak->time_us} : peak,
          .end = {last, findings().end_us}};
}

Result<Moment> TapeView::moment(const std::string& text) const { return find_position(text, points()); }

} // namespace heaptape
