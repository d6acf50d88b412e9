// Puts the marks of the program together from their records. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/ring_item.h"
#include "tape/contents.h"

namespace heaptape {

class MarkCollector {
public:
  static constexpr std::size_t kChunk = 12; // bytes of text per record
  static constexpr std::size_t kLongest = 240;

  void add_text(const RingItem& item);
  // The mark that its text came before; `known` is the mark but for name and kind. A signal handler may make one while its thread
  // is in the middle of another, so the text is what came last.
  void add(const RingItem& item, Mark known);
  // One that nobody in the program made.
  void add_whole(Mark mark) { marks_.push_back(std::move(mark)); }
  // The slot's thread has ended.
  void forget(std::uint32_t slot) { texts_.erase(slot); }

  // Those that are complete; they are then forgotten here.
  std::vector<Mark> take() { return std::exchange(marks_, {}); }

private:
  using Chunk = std::array<char, kChunk>;
  static constexpr std::size_t kMostChunks = 256; // of one thread, left behind by longjmp

  std::unordered_map<std::uint32_t, std::vector<Chunk>> texts_; // by slot
  std::vector<Mark> marks_;
};

} // namespace heaptape
