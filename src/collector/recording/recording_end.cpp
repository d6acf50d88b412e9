// How a recording ends: what is left is taken out, added up and put on the tape.
#include <algorithm>
#include <iterator>
#include <utility>

#include "analysis/index/summary_of.h"
#include "collector/recording/recording.h"
#include "wire/loss_name.h"

namespace heaptape {

bool Recording::is_written_over() const {
  const wire::Header& header = memory_.header();
  if (memory_.is_written_over() ||
      header.off_reason.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(wire::OffReason::WrittenOver))
    return true;
  // Nothing is lost more often than once a nanosecond.
  const std::uint64_t most = monotonic_ns() - facts_.tape_start_ns;
  return std::any_of(std::begin(header.losses), std::end(header.losses),
                     [&](const auto& count) { return count.load(std::memory_order_relaxed) > most; });
}

Summary Recording::summarize() const {
  const HeapTotals& totals = sink_.totals_written();
  Summary summary = summary_of(totals);
  summary.reordered = builder_->reordered();
  const auto lose = [&](const std::string& name, std::uint64_t count) {
    if (count != 0) summary.losses[name] += count;
  };
  lose(wire::kPausedName, builder_->paused_blocks());
  lose(wire::kLossNotWritten, builder_->events() - totals.events + count_only_.events);
  if (is_written_over()) {
    lose(wire::kLossUnknown, 1);
    return summary;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(wire::Loss::Count); ++i) {
    lose(wire::loss_name(static_cast<wire::Loss>(i)), memory_.header().losses[i].load(std::memory_order_relaxed));
  }
  lose(wire::kLossUnfinished, rings_.holes());
  lose(wire::loss_name(wire::Loss::StackCut), stacks_.cut_stacks());
  lose(wire::loss_name(wire::Loss::StackTooDeep), stacks_.too_deep_stacks());
  lose(wire::kLossDamaged, builder_->damaged() + stacks_.damaged() + (modules_.damaged() ? 1 : 0));
  lose(wire::kLossStuck, rings_.forced_rounds());
  return summary;
}

void Recording::drain() {
  contents_->finish();
  clock_.calibrate();
  clock_.believe_until_now();
  const std::uint64_t now = clock_.now();
  end_us_ = clock_.plain_us(now);
  if (!failed()) footprint_.sample();
  run_time_.finish(end_us_);
  rings_.finish(consumer(), now);
  builder_->finish();
  take_thread_names();
  write_modules();
  if (watched_ != nullptr) tell_watcher();
  write_waiting();
}

// Unlike drain(), which takes a record that is not ready for one that never will be, and would not end while the program
// makes more.
void Recording::break_off() {
  contents_->close();
  flush();
  end_us_ = clock_.plain_us(clock_.now());
  run_time_.finish(end_us_);
}

Summary Recording::finish(Ending ending, std::int32_t detail, const std::string& note) {
  Summary summary = summarize();
  summary.duration_us = std::max(end_us_, clock_.last_us());
  summary.ending = ending;
  summary.ending_detail = detail;
  summary.note = note;
  const auto write_summary = [&] { sink_.write([&](TapeWriter& writer) { return writer.add_summary(summary); }); };
  // A full disk may have room for a few more bytes, and --max-tape limits the events. The summary is what matters most
  // then.
  const bool was_failed = failed();
  sink_.ignore_failure();
  if (was_failed) write_summary();
  builder_->memory_errors().leave_out(std::exchange(count_only_.memory_errors, 0));
  write_memory_errors();
  write_threads(true);
  footprint_.write_samples();
  footprint_.write_residency();
  if (!was_failed) write_summary();
  if (facts_.watcher != nullptr) facts_.watcher->on_end(summary);
  return summary;
}

} // namespace heaptape
