// The end of the pipeline: events go into blocks, blocks onto the tape, each preceded by the stacks it names. After the
// first failed write everything is dropped: the tape stays readable up to the last whole block. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/heap/heap_totals.h"
#include "base/result.h"
#include "collector/events/stack_folder.h"
#include "tape/event.h"
#include "tape/event_encoder.h"
#include "tape/writer.h"

namespace heaptape {

class TapeSink {
public:
  // max_bytes 0: no limit. Without a writer everything is passed over and counted as written. All must outlive the
  // sink.
  TapeSink(TapeWriter* writer, StackFolder& stacks, std::uint64_t max_bytes)
      : writer_(writer), stacks_(stacks), max_bytes_(max_bytes) {
    choose_block_size();
  }

  void add(const Event& event, std::uint64_t allocated_at) {
    if (error_) [[unlikely]]
      return;
    encoder_.add(event, allocated_at);
    if (++in_block_ == block_events_) flush();
  }

  bool has_tape() const { return writer_ != nullptr; }
  // Instead of add() when there is no writer: an event that goes on no tape.
  void pass() {
    if (++in_block_ == block_events_) flush();
  }

  // Whose totals go with the events; for totals_written().
  void follow(const HeapTotals& totals) { totals_ = &totals; }

  // Writes the block at hand, however small.
  void flush();

  // The stacks that are not on the tape yet, for a block that is not a chunk of events.
  void write_stacks();

  // Any other block; remembers a failure like flush().
  template <class Write>
  void write(Write&& write) {
    if (writer_ != nullptr && (!error_ || closing_)) note(write(*writer_));
  }

  // The same for what the tape may do without: a failure is reported and not remembered. `bytes` is about what it takes.
  template <class Write>
  bool try_write(std::uint64_t bytes, Write&& write) {
    if (writer_ == nullptr || error_ || (max_bytes_ != 0 && bytes_written() + bytes > max_bytes_)) return false;
    return static_cast<bool>(write(*writer_));
  }

  // Bytes that the disk and the limit leave to the tape, as far as it is known.
  std::uint64_t room() const;

  // From here on write() tries again, for the last few blocks; add() does not.
  void ignore_failure() { closing_ = true; }

  // Why nothing more is written.
  const std::optional<Error>& error() const { return error_; }
  // The totals after the last event that is in a whole block on the tape.
  const HeapTotals& totals_written() const { return totals_written_; }
  std::uint64_t bytes_written() const { return writer_ != nullptr ? writer_->bytes_written() : 0; }
  std::uint64_t events_waiting() const { return in_block_; }

private:
  void note(const Result<>& result);
  void choose_block_size();

  TapeWriter* writer_; // null: no tape
  StackFolder& stacks_;
  EventEncoder encoder_;
  std::uint64_t max_bytes_;
  std::size_t in_block_ = 0;
  std::size_t block_events_ = EventEncoder::kMaxEvents;
  const HeapTotals* totals_ = nullptr;
  HeapTotals totals_written_;
  std::optional<Error> error_;
  bool closing_ = false;
};

} // namespace heaptape
