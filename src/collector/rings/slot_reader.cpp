#include "collector/rings/slot_reader.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace heaptape {

SlotReader::SlotReader(std::uint32_t index, wire::ThreadSlot& slot, wire::Record* ring, std::uint32_t capacity)
    : slot_(slot), ring_(ring), index_(index), capacity_(capacity),
      shift_(static_cast<unsigned>(std::countr_zero(capacity))), item_slot_(index) {
  HT_CHECK(std::has_single_bit(capacity));
}

void SlotReader::start_thread(std::uint32_t tid, std::uint64_t ticks, std::uint64_t stack_top, ThreadList& threads) {
  if (thread_ != ThreadId{} && !borrowed_) threads.end(thread_, std::max(ticks, last_time_));
  tid_ = tid;
  thread_ = threads.start(tid, ticks, stack_top);
  item_slot_ = index_;
  borrowed_ = false;
}

// Such a thread may begin a call in one slot and end it in another, so its items name a slot of its own, beyond the last
// real one. Its slots are not read in the order in which it used them, so none of these records begins the thread.
void SlotReader::start_borrower(RingItem& item, ThreadList& threads) {
  const ThreadList::Borrower* borrower =
      threads.borrow(static_cast<std::uint32_t>(item.size()), item.time(), item.address());
  if (borrower == nullptr)
    return start_thread(static_cast<std::uint32_t>(item.size()), item.time(), item.address(), threads);
  if (thread_ != ThreadId{} && !borrowed_) threads.end(thread_, std::max(item.time(), last_time_));
  tid_ = static_cast<std::uint32_t>(item.size());
  stack_top_ = item.address();
  thread_ = borrower->id;
  item_slot_ = borrower->slot;
  borrowed_ = true;
  item.erase();
}

void SlotReader::forget_thread(ThreadList& threads, std::uint64_t not_before) {
  if (thread_ != ThreadId{} && !borrowed_) threads.end(thread_, std::max(last_time_, not_before));
  if (borrowed_) threads.saw_borrower(tid_, stack_top_, last_time_);
  thread_ = ThreadId{};
  tid_ = 0;
  item_slot_ = index_;
  borrowed_ = false;
}

inline void SlotReader::take_in(std::uint64_t word0, const wire::Record& record, ThreadList& threads) {
  RingItem item;
  item.word0 = word0 & ~wire::kPhaseBit;
  item.word1 = record.word1.load(std::memory_order_relaxed);
  item.word2 = record.word2.load(std::memory_order_relaxed);
  if (item.kind() == EventKind::ThreadStart) [[unlikely]] {
    if (item.stack() == wire::kBorrowedSlot)
      start_borrower(item, threads);
    else
      start_thread(static_cast<std::uint32_t>(item.size()), item.time(), item.address(), threads);
  } else if (thread_ == ThreadId{}) [[unlikely]] {
    start_thread(slot_.tid.load(std::memory_order_relaxed), item.time(), 0, threads);
  }
  item.slot = item_slot_;
  item.thread = thread_.value;
  last_time_ = std::max(last_time_, item.time());
  queue_.push(item);
}

std::size_t SlotReader::read(std::size_t limit, ThreadList& threads) {
  constexpr std::size_t kFewest = 16, kMost = 512;
  limit = std::min<std::size_t>(limit, capacity_);
  // Many thousand rings with a record or two must not take memory for hundreds each.
  const std::size_t most_at_once = std::clamp<std::size_t>(fill(), kFewest, kMost);
  std::size_t count = 0;
  while (count < limit && has_ready()) {
    // Within one lap the phase is constant and the records lie side by side.
    const std::uint64_t offset = position_ & (capacity_ - 1);
    const std::size_t stretch = std::min<std::size_t>({limit - count, capacity_ - offset, most_at_once});
    const std::uint64_t phase = phase_at(position_);
    queue_.reserve(stretch);
    const wire::Record* record = ring_ + offset;
    std::size_t done = 0;
    for (; done < stretch; ++done, ++record) {
      const std::uint64_t word0 = record->word0.load(std::memory_order_acquire); // pairs with the recorder's publishing
      if ((word0 & wire::kPhaseBit) != phase) break;
      take_in(word0, *record, threads);
    }
    position_ += done;
    count += done;
    if (done < stretch) break;
  }
  if (count != 0)
    slot_.taken.store(position_, std::memory_order_release); // the space may be written again from here on
  return count;
}

bool SlotReader::read_past_holes(std::size_t limit, ThreadList& threads) {
  if (!end_) {
    // A count that lies behind us, or further ahead than the ring is long, makes no sense.
    end_ = std::clamp(slot_.reserved.load(std::memory_order_acquire), position_, position_ + capacity_);
  }
  const std::uint64_t all = std::max(*end_, position_);
  const std::uint64_t end = std::min<std::uint64_t>(all, position_ + limit);
  queue_.reserve(end - position_);
  for (; position_ < end; ++position_) {
    wire::Record& record = ring_[position_ & (capacity_ - 1)];
    const std::uint64_t word0 = record.word0.load(std::memory_order_acquire); // pairs with the recorder's publishing
    if ((word0 & wire::kPhaseBit) == phase_at(position_)) {
      take_in(word0, record, threads);
    } else {
      ++holes_;
      record.word0.store(phase_at(position_), std::memory_order_relaxed); // kind None
    }
  }
  slot_.taken.store(position_, std::memory_order_release);
  if (end == all) end_.reset();
  return end < all;
}

bool SlotReader::has_ready() const {
  const std::uint64_t word0 = ring_[position_ & (capacity_ - 1)].word0.load(std::memory_order_relaxed);
  return (word0 & wire::kPhaseBit) == phase_at(position_);
}

bool SlotReader::is_stalled(std::uint64_t now_ns, std::uint64_t patience_ns) {
  constexpr std::uint64_t kSlack = 64; // a thread waits before the ring is full to the brim
  const std::uint64_t full = capacity_ - std::min<std::uint64_t>(kSlack, capacity_ / 2);
  const std::uint64_t used = slot_.reserved.load(std::memory_order_relaxed) - position_;
  // A count beyond the ring makes no sense; the recorder notices that itself, and gives up.
  if (has_ready() || used < full || used > capacity_) {
    full_since_ns_ = 0;
    return false;
  }
  if (full_since_ns_ == 0) full_since_ns_ = now_ns;
  return now_ns - full_since_ns_ >= patience_ns;
}

std::uint64_t SlotReader::fill() const {
  const std::uint64_t used = slot_.reserved.load(std::memory_order_relaxed) - position_;
  return used <= capacity_ ? used : 0; // more makes no sense, and nobody need hurry for its sake
}

} // namespace heaptape
