#include "collector/tape_sink.h"

namespace heaptape {

void TapeSink::note(const Result<>& result) {
  if (!result.ok() && !error_) error_ = result.error();
}

void TapeSink::flush() {
  if (error_ || in_block_ == 0) return;
  if (!stacks_.new_nodes().empty()) {
    note(writer_.add_stacks(stacks_.first_new(), stacks_.new_nodes()));
    stacks_.clear_new();
    if (error_) return;
  }
  note(writer_.add_events(encoder_));
  if (error_) return;
  events_written_ += in_block_;
  in_block_ = 0;
  if (totals_ != nullptr) totals_written_ = *totals_;
  if (max_bytes_ != 0 && writer_.bytes_written() >= max_bytes_) {
    reached_limit_ = true;
    error_ = Error{ErrorCode::Io, "the tape has reached its largest size (--max-tape)"};
  }
}

} // namespace heaptape
