#include "collector/events/tape_sink.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <limits>

namespace heaptape {

void TapeSink::note(const Result<>& result) {
  if (!result.ok() && !error_) error_ = result.error();
}

// Smaller blocks towards the limit, so that the tape ends near it and not a whole block later.
void TapeSink::choose_block_size() {
  if (max_bytes_ == 0 || writer_ == nullptr) return;
  constexpr std::uint64_t kBytesPerEvent = 16; // more than events take in practice
  constexpr std::uint64_t kSmallest = 1024;
  const std::uint64_t left = max_bytes_ - std::min(max_bytes_, writer_->bytes_written());
  block_events_ =
      static_cast<std::size_t>(std::clamp<std::uint64_t>(left / kBytesPerEvent, kSmallest, EventEncoder::kMaxEvents));
}

std::uint64_t TapeSink::room() const {
  std::uint64_t room = std::numeric_limits<std::uint64_t>::max();
  if (writer_ == nullptr) return room;
  struct statvfs disk {};
  if (::statvfs(writer_->path().c_str(), &disk) == 0) room = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  if (max_bytes_ != 0) room = std::min(room, max_bytes_ - std::min(max_bytes_, bytes_written()));
  return room;
}

void TapeSink::write_stacks() {
  if (error_ || stacks_.new_nodes().empty()) return;
  if (writer_ != nullptr) note(writer_->add_stacks(stacks_.first_new(), stacks_.new_nodes()));
  stacks_.clear_new();
}

void TapeSink::flush() {
  if (error_ || in_block_ == 0) return;
  write_stacks();
  if (error_) return;
  if (writer_ != nullptr) note(writer_->add_events(encoder_));
  if (error_) return;
  in_block_ = 0;
  if (totals_ != nullptr) totals_written_ = *totals_;
  choose_block_size();
  if (max_bytes_ != 0 && writer_ != nullptr && writer_->bytes_written() >= max_bytes_)
    error_ = Error{ErrorCode::Io, "the tape has reached its size limit (--max-tape)"};
}

} // namespace heaptape
