// Takes the ready records out of one slot's ring, in order, into a queue of private copies.
//
// A ring of 8 records in its third lap (positions 16 to 23; the phase of an even lap is 1). The thread was interrupted by a
// signal while it wrote record 20, and the handler has written 21 meanwhile:
//
//   position   16    17    18    19    20    21    14    15        (22 and 23 are still to come in this lap)
//   phase       1     1     1     1     0     1     0     0
//              taken.......   ready ready  ^     ready  ^ phases of lap 1: not ready
//                             |            |            |
//                       position_ = 18     hole         reserved = 22
//
// read() takes 18 and 19 and stops at the hole: records of a thread are in order, so 21 must wait for 20. When the thread
// resumes, 20 becomes ready. When it is dead instead, read_past_holes() counts 20 as lost, closes it, and takes 21.
//
// What is known: position_, which is ours alone; everything else is the program's to write. What is checked: the phase bit of
// each record, read once. Why it ends: read() takes at most one lap; `reserved` is believed only when the thread is gone, once, and
// never beyond one lap from position_. So a ring has an end, whatever is written into it meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "collector/rings/item_queue.h"
#include "collector/rings/thread_list.h"
#include "wire/layout.h"

namespace heaptape {

class SlotReader {
public:
  // `capacity` is a power of two.
  SlotReader(std::uint32_t index, wire::ThreadSlot& slot, wire::Record* ring, std::uint32_t capacity);

  // Copies up to `limit` ready records and frees their space. Each ThreadStart record begins a new thread in `threads`.
  std::size_t read(std::size_t limit, ThreadList& threads);

  // For a ring whose owner is gone: goes over up to `limit` reserved records and skips those that never became ready.
  // Those are counted and closed, so that they do not look ready one lap later. True: there are more. Called until there
  // are none, it goes over one lap at most.
  bool read_past_holes(std::size_t limit, ThreadList& threads);

  // The next record is ready, so read() would yield something.
  bool has_ready() const;
  // The ring has been full for this long and its next record has not become ready. Its thread would wait for ever: a
  // signal handler interrupted the hook that owes the record and then filled the ring, or the ring was overwritten.
  // read_past_holes() gets past it.
  bool is_stalled(std::uint64_t now_ns, std::uint64_t patience_ns);
  // read_past_holes() has begun and has more to go over.
  bool is_passing_holes() const { return end_.has_value(); }
  // Records reserved and not yet taken, as the program says; 0 when what it says makes no sense.
  std::uint64_t fill() const;

  ItemQueue& queue() { return queue_; }
  wire::ThreadSlot& slot() { return slot_; }
  std::uint32_t index() const { return index_; }
  std::uint32_t capacity() const { return capacity_; }
  std::uint32_t tid() const { return tid_; }
  ThreadId thread() const { return thread_; }
  // Time of the latest record read, 0 at the start.
  std::uint64_t last_time() const { return last_time_; }
  std::uint64_t holes() const { return holes_; }

  // The thread that owned the slot is gone and all it wrote has been read. It ended with its last record, or at `not_before` if that is later.
  void forget_thread(ThreadList& threads, std::uint64_t not_before = 0);

private:
  std::uint64_t phase_at(std::uint64_t position) const { return wire::phase_of_lap(position >> shift_); }
  void take_in(std::uint64_t word0, const wire::Record& record, ThreadList& threads);
  void start_thread(std::uint32_t tid, std::uint64_t ticks, std::uint64_t stack_top, ThreadList& threads);
  void start_borrower(RingItem& item, ThreadList& threads);

  wire::ThreadSlot& slot_;
  wire::Record* ring_;
  std::uint32_t index_;
  std::uint32_t capacity_;
  unsigned shift_;
  std::uint64_t position_ = 0;
  std::uint64_t full_since_ns_ = 0;  // 0: it is not, or something is ready
  std::optional<std::uint64_t> end_; // of what read_past_holes() goes over
  std::uint32_t item_slot_;          // the slot that the items name as theirs
  bool borrowed_ = false;            // its thread uses several slots, so ThreadList ends it
  std::uint64_t stack_top_ = 0;      // of such a thread
  ItemQueue queue_;
  ThreadId thread_;
  std::uint32_t tid_ = 0;
  std::uint64_t last_time_ = 0;
  std::uint64_t holes_ = 0;
};

} // namespace heaptape
