// Words that may be pointers to blocks, looked up many at a time, so that their cache misses overlap.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "analysis/memory/block_ranks.h"

namespace heaptape {

// How the program disguises pointers: the address is (word & mask) << shift. Words that are addresses as they are count in any case.
struct PointerForm {
  std::uint64_t mask = ~std::uint64_t{};
  unsigned shift = 0; // below 64

  std::uint64_t address(std::uint64_t word) const { return (word & mask) << (shift & 63); }
  friend bool operator==(const PointerForm&, const PointerForm&) = default;
};

// Calls hit(tag, block, offset in the block) in the order of look(). What was looked at last comes with
// drain().
template <class Hit>
class WordBatch {
public:
  WordBatch(const BlockRanks& ranks, PointerForm form, Hit hit)
      : ranks_(ranks), form_(form), plain_(form == PointerForm()), hit_(std::move(hit)) {}

  [[gnu::always_inline]] void look(std::uint64_t word, std::uint64_t tag) {
    if (ranks_.maybe(word)) add(word, tag);
    if (plain_) return;
    const std::uint64_t address = form_.address(word);
    if (address != word && ranks_.maybe(address)) add(address, tag);
  }
  // All aligned words of these bytes, which begin at `address`; the tag of a word is tag_of(its address).
  template <class TagOf>
  void look_at_all(std::uint64_t address, std::span<const std::byte> bytes, TagOf tag_of) {
    for (std::size_t at = -address % sizeof(std::uint64_t); at + sizeof(std::uint64_t) <= bytes.size();
         at += sizeof(std::uint64_t)) {
      std::uint64_t word;
      std::memcpy(&word, &bytes[at], sizeof word);
      look(word, tag_of(address + at));
    }
  }

  void drain() {
    std::array<std::uint32_t, kAhead> ranks;
    for (std::size_t i = 0; i < count_; ++i) ranks_.prefetch(words_[i].value);
    for (std::size_t i = 0; i < count_; ++i) {
      ranks[i] = ranks_.rank(words_[i].value);
      ranks_.prefetch_rank(ranks[i]);
    }
    for (std::size_t i = 0; i < count_; ++i) {
      const std::uint32_t block = ranks_.holder(words_[i].value, ranks[i]);
      if (block != BlockRanks::kNone) hit_(words_[i].tag, block, words_[i].value - ranks_.begin(block));
    }
    count_ = 0;
  }

private:
  static constexpr std::size_t kAhead = 64;
  struct Word {
    std::uint64_t value, tag;
  };

  void add(std::uint64_t value, std::uint64_t tag) {
    words_[count_++] = {value, tag};
    if (count_ == kAhead) drain();
  }

  const BlockRanks& ranks_;
  const PointerForm form_;
  const bool plain_;
  Hit hit_;
  std::array<Word, kAhead> words_;
  std::size_t count_ = 0;
};

} // namespace heaptape
