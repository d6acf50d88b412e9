// Things on their way to the tape of which a program may make millions: from `most` on they are only counted. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace heaptape {

template <class Item>
class BoundedList {
public:
  explicit BoundedList(std::uint64_t most) : most_(most) {}

  void add(Item item) {
    ++made_;
    if (made_ - left_out_ > most_) {
      ++left_out_;
      return;
    }
    waiting_.push_back(std::move(item));
  }
  // Counts what there was no other use for.
  void leave_out(std::uint64_t count) {
    made_ += count;
    left_out_ += count;
  }

  std::uint64_t made() const { return made_; } // ever
  std::uint64_t left_out() const { return left_out_; }
  std::size_t waiting() const { return waiting_.size(); }
  // Since the last take().
  bool anything_new() const { return !waiting_.empty() || left_out_ != left_out_taken_; }
  std::vector<Item> take() {
    left_out_taken_ = left_out_;
    return std::exchange(waiting_, {});
  }

private:
  std::uint64_t most_;
  std::vector<Item> waiting_;
  std::uint64_t made_ = 0;
  std::uint64_t left_out_ = 0;
  std::uint64_t left_out_taken_ = 0;
};

} // namespace heaptape
