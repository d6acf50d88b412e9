// The words in root ranges that lead to live blocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "analysis/memory/block_ranks.h"
#include "analysis/memory/memory_image.h"
#include "analysis/memory/root_ranges.h"
#include "analysis/memory/word_batch.h"

namespace heaptape {

// Where a root word lies in registers: a number of ThreadState::Register, or this plus a byte of ThreadState::extended.
inline constexpr std::uint64_t kExtendedRegisters = 0x100;

// A place in a block as one number.
constexpr std::uint64_t place_in(std::uint32_t block, std::uint32_t offset) {
  return std::uint64_t{block} << 32 | offset;
}

struct RootWord {
  std::uint64_t address = 0; // where it lies; of Registers see above
  std::uint32_t block = 0;   // that it leads to
  std::uint32_t offset = 0;  // in that block; ends at 2^32 - 1
  std::uint32_t range = 0;   // number in Roots::ranges

  std::uint64_t place() const { return place_in(block, offset); }
};

// visit(range, address, word) for every word of the roots outside of live blocks; in code at every byte.
template <class Visit>
void for_each_root_word(std::span<const RootRange> ranges, std::span<const ThreadState> threads,
                        const MemoryImage& image, const BlockRanks& ranks, Visit visit);

// Const calls may come from any thread.
class Roots {
public:
  static Roots of(const RootFacts& facts, const MemoryImage& image, const BlockRanks& ranks, PointerForm form = {});

  std::span<const RootRange> ranges() const { return ranges_; }
  // In order of ranges. Of the words that lead to the same place only the first is kept, and at most eight places inside of a block; for
  // each stack and the registers of each thread one word to a block's start and one to its inside.
  std::span<const RootWord> words() const { return words_; }
  // The word counts only for what strong ones do not lead to.
  bool is_weak(const RootWord& word) const {
    return heaptape::is_weak(ranges_[word.range].kind) || is_borrowed(word.place());
  }
  // From now on words that lead to these places are weak, wherever they lie. In order.
  void set_borrowed(std::vector<std::uint64_t> places) { borrowed_ = std::move(places); }
  bool is_borrowed(std::uint64_t place) const { return std::binary_search(borrowed_.begin(), borrowed_.end(), place); }

private:
  std::vector<RootRange> ranges_;
  std::vector<RootWord> words_;
  std::vector<std::uint64_t> borrowed_;
};

// The words of a thread's registers that may be pointers: visit(place, word).
template <class Visit>
void for_each_register(const ThreadState& thread, Visit visit) {
  constexpr std::size_t kGeneral = ThreadState::Rdi + 1;
  for (std::size_t i = 0; i < kGeneral; ++i) visit(std::uint64_t{i}, thread.registers[i]);
  visit(std::uint64_t{ThreadState::Rsp}, thread[ThreadState::Rsp]);
  // XSAVE's standard layout: 32 bytes of control words, x87 and SSE registers, at 512 a header of 64 bytes, then AVX and what came later.
  constexpr std::size_t kFirst = 32, kHeader = 512, kHeaderEnd = 576;
  for (std::size_t at = kFirst; at + sizeof(std::uint64_t) <= thread.extended.size(); at += sizeof(std::uint64_t)) {
    if (at >= kHeader && at < kHeaderEnd) continue;
    std::uint64_t word;
    std::memcpy(&word, &thread.extended[at], sizeof word);
    visit(kExtendedRegisters + at, word);
  }
}

// The parts of [begin, end) that lie outside of live blocks: visit(begin, end).
template <class Visit>
void for_each_gap(const BlockRanks& ranks, std::uint64_t begin, std::uint64_t end, Visit visit) {
  std::uint32_t next = ranks.first_from(begin);
  if (next > 0) begin = std::max(begin, ranks.end(next - 1));
  while (begin < end) {
    const std::uint64_t till = next < ranks.size() ? std::min(end, ranks.begin(next)) : end;
    if (begin < till) visit(begin, till);
    if (next == ranks.size()) break;
    begin = std::max(begin, ranks.end(next++));
  }
}

template <class Visit>
void for_each_root_word(std::span<const RootRange> ranges, std::span<const ThreadState> threads,
                        const MemoryImage& image, const BlockRanks& ranks, Visit visit) {
  MemoryCursor cursor(image);
  for (std::uint32_t i = 0; i < ranges.size(); ++i) {
    const RootRange& range = ranges[i];
    if (range.kind == RootKind::Registers) {
      for_each_register(threads[range.thread], [&](std::uint64_t place, std::uint64_t word) { visit(i, place, word); });
      continue;
    }
    const std::size_t step = range.kind == RootKind::Code ? 1 : sizeof(std::uint64_t);
    cursor.for_each_piece(range.begin, range.end, [&](std::uint64_t address, std::span<const std::byte> bytes) {
      for_each_gap(ranks, address, address + bytes.size(), [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t at = (begin + step - 1) & ~(step - 1); at + sizeof(std::uint64_t) <= end; at += step) {
          std::uint64_t word;
          std::memcpy(&word, &bytes[at - address], sizeof word);
          visit(i, at, word);
        }
      });
    });
  }
}

} // namespace heaptape
