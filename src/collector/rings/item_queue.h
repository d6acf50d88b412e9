// A queue of ring items in one piece of memory, so that what waits can be handed on as a span. Kept sorted by time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "collector/rings/ring_item.h"

namespace heaptape {

class ItemQueue {
public:
  bool empty() const { return head_ == tail_; }
  std::size_t size() const { return tail_ - head_; }
  RingItem& front() { return items_[head_]; }
  std::span<RingItem> items() { return {items_.get() + head_, size()}; }
  std::size_t capacity() const { return capacity_; }

  void pop(std::size_t count) {
    head_ += count;
    if (head_ == tail_) head_ = tail_ = 0;
  }

  // Room for `count` more items at the end.
  void reserve(std::size_t count) {
    if (capacity_ - tail_ >= count) return;
    if (head_ != 0) {
      std::memmove(items_.get(), items_.get() + head_, size() * sizeof(RingItem));
      tail_ -= head_;
      head_ = 0;
    }
    if (capacity_ - tail_ >= count) return;
    const std::size_t wanted = tail_ + count + tail_ / 2;
    auto larger = std::make_unique_for_overwrite<RingItem[]>(wanted);
    if (tail_ != 0) std::memcpy(larger.get(), items_.get(), tail_ * sizeof(RingItem));
    items_ = std::move(larger);
    capacity_ = wanted;
  }

  // Needs room made by reserve(). An item almost always belongs at the end, or a few places before it when a signal
  // handler's hooks interrupted its own. No honest recorder is more than kMostLate places late: such an item is moved
  // no further, and gets the time of the item in front of it.
  void push(const RingItem& item) {
    constexpr std::size_t kMostLate = 256;
    std::size_t at = tail_++;
    const std::size_t first = size() > kMostLate ? tail_ - kMostLate : head_;
    while (at > first && items_[at - 1].time() > item.time()) [[unlikely]] {
        items_[at] = items_[at - 1];
        --at;
      }
    items_[at] = item;
    if (at == first && at > head_ && items_[at - 1].time() > item.time()) [[unlikely]]
      items_[at].word0 = items_[at - 1].time() << 8 | (item.word0 & wire::kKindMask);
  }

  // How many of the first items are not later than `time`.
  std::size_t count_until(std::uint64_t time) const {
    if (tail_ == head_ || items_[tail_ - 1].time() <= time) return tail_ - head_;
    std::size_t low = head_, high = tail_;
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (items_[middle].time() <= time)
        low = middle + 1;
      else
        high = middle;
    }
    return low - head_;
  }

  // Gives the memory back; the queue must be empty.
  void release() {
    items_.reset();
    capacity_ = head_ = tail_ = 0;
  }

private:
  std::unique_ptr<RingItem[]> items_;
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
  std::size_t capacity_ = 0;
};

} // namespace heaptape
