// Puts the marks and thread names of the program together from their records. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/rings/ring_item.h"
#include "tape/contents.h"

namespace heaptape {

// The text of a mark as the program sends it, bytes of any kind: a name; and, if a NUL follows it, one byte that says
// what the value is (a MarkValue), eight bytes of value, and the detail. What is missing stays empty.
void parse_mark_text(std::string_view text, Mark& mark);

class MarkCollector {
public:
  static constexpr std::size_t kChunk = 12; // bytes of text per record
  static constexpr std::size_t kLongest = 4000;

  struct ThreadName {
    ThreadId thread;
    std::string name;
    bool of_kernel = false; // not given by the program for heaptape
  };

  void add_text(const RingItem& item);
  // The mark that its text came before; `known` is what does not come from the text. A signal handler may make one
  // while its thread is in the middle of another, so the text is what came last.
  void add(const RingItem& item, Mark known);
  void add_thread_name(const RingItem& item);
  // The text that came last, `length` bytes of it at most; it is then forgotten.
  std::string take_text(std::uint32_t slot, std::uint64_t length);
  // The slot's thread has ended.
  void forget(std::uint32_t slot) { texts_.erase(slot); }

  std::vector<ThreadName> take_thread_names() { return std::exchange(thread_names_, {}); }

  // A mark of the collector's own, at an event that is not far back.
  void add_own(Mark mark) {
    marks_.push_back(std::move(mark));
    ++made_;
  }

  // Those that are complete and not yet taken, in the order they were added; and how many there ever were.
  const std::vector<Mark>& waiting() const { return marks_; }
  std::uint64_t made() const { return made_; }
  // The same by event; they are then forgotten here.
  std::vector<Mark> take();

private:
  using Chunk = std::array<char, kChunk>;
  static constexpr std::size_t kMostChunks = 4 * (kLongest / kChunk + 1); // of one thread, left behind by longjmp

  std::unordered_map<std::uint32_t, std::vector<Chunk>> texts_; // by slot
  std::vector<Mark> marks_;
  std::vector<ThreadName> thread_names_;
  std::uint64_t made_ = 0;
};

} // namespace heaptape
