// Takes the ready records out of one slot's ring, in order, into a queue of private copies. Trusts nothing it reads: the
// position is our own, and a ring never yields more than its capacity at once. How far the program says that it has written is read
// once, when its thread is gone, and never believed beyond one lap: then the ring has an end, whatever is written there meanwhile.
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

  // For a ring whose owner is gone: goes over up to `limit` reserved records and passes by those that never became ready.
  // Those are counted and closed, so that they do not look ready one lap later. True: there are more. With calls until there are
  // none it passes one lap at most.
  bool read_past_holes(std::size_t limit, ThreadList& threads);

  // The next record is ready, so read() would yield something.
  bool has_ready() const;
  // Records reserved and not yet taken, as the program says, at most the capacity.
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

  // The thread that owned the slot is gone and all it wrote has been read.
  void forget_thread(ThreadList& threads);

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
  std::optional<std::uint64_t> end_; // of what the thread that is gone has written
  std::uint32_t item_slot_;          // where the items are said to come from
  bool borrowed_ = false;            // its thread has been in other slots, and is ended by others
  std::uint64_t stack_top_ = 0;      // of such a thread
  ItemQueue queue_;
  ThreadId thread_;
  std::uint32_t tid_ = 0;
  std::uint64_t last_time_ = 0;
  std::uint64_t holes_ = 0;
};

} // namespace heaptape
