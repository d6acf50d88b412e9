#include "analysis/memory/second_look.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "analysis/memory/block_walk.h"

namespace heaptape {

namespace {

constexpr std::uint64_t kWord = 8;

std::uint64_t word_at(const std::byte* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

} // namespace

SecondLook::SecondLook(const HeapView& heap, const std::vector<std::uint32_t>& lost) : heap_(heap) {
  constexpr std::size_t kBitsPerBlock = 16;
  const std::size_t bits = std::bit_ceil(std::max<std::size_t>(lost.size() * kBitsPerBlock, 64));
  filter_shift_ = 64 - static_cast<unsigned>(std::countr_zero(bits));
  begin_filter_.resize(bits / 64);
  end_filter_.resize(bits / 64);
  for (const std::uint32_t block : lost) {
    begins_.push_back({heap.ranks.begin(block), block});
    // A word that leads to the next block is meant for that one.
    const std::uint64_t end = heap.ranks.begin(block) + heap.ranks.bytes(block);
    if (heap.ranks.bytes(block) != 0 && heap.ranks.find(end) == BlockRanks::kNone) ends_.push_back({end, block});
  }
  const auto by_address = [](const Goal& a, const Goal& b) { return a.address < b.address; };
  std::sort(begins_.begin(), begins_.end(), by_address);
  std::sort(ends_.begin(), ends_.end(), by_address);
  if (begins_.empty()) return;
  lowest_ = begins_.front().address;
  reach_ = std::max(begins_.back().address, ends_.empty() ? 0 : ends_.back().address) - lowest_;
  for (const Goal& goal : begins_)
    begin_filter_[bit_of(goal.address) / 64] |= std::uint64_t{1} << bit_of(goal.address) % 64;
  for (const Goal& goal : ends_)
    end_filter_[bit_of(goal.address) / 64] |= std::uint64_t{1} << bit_of(goal.address) % 64;
}

void SecondLook::find(bool behind, std::uint64_t place, std::uint64_t word,
                      std::vector<DoubtfulReference>& found) const {
  const std::vector<Goal>& goals = behind ? ends_ : begins_;
  const auto goal = std::lower_bound(goals.begin(), goals.end(), word,
                                     [](const Goal& one, std::uint64_t value) { return one.address < value; });
  if (goal != goals.end() && goal->address == word) found.push_back({goal->block, behind, place});
}

// Words across two pieces of memory are not seen: one byte in 37,000.
void SecondLook::look(std::uint64_t address, std::span<const std::byte> bytes,
                      std::vector<DoubtfulReference>& found) const {
  for (std::size_t at = 0; at + kWord <= bytes.size();) {
    if ((address + at) % kWord != 0) { // up to the first aligned one
      const std::uint64_t word = word_at(&bytes[at]);
      if (maybe(begin_filter_, word)) find(false, address + at, word, found);
      ++at;
      continue;
    }
    const std::uint64_t word = word_at(&bytes[at]);
    if (maybe(end_filter_, word)) find(true, address + at, word, found);
    if (at + 2 * kWord <= bytes.size()) {
      const std::uint64_t next = word_at(&bytes[at + kWord]);
      // An address has zeros on top: these are low bits of the next word.
      for (unsigned shift = 8; shift < 64; shift += 8) {
        const std::uint64_t between = word >> shift | next << (64 - shift);
        if (between - lowest_ <= reach_ && maybe(begin_filter_, between)) [[unlikely]]
          find(false, address + at + shift / 8, between, found);
      }
      at += kWord;
    } else {
      ++at;
    }
  }
}

void SecondLook::look_at_roots(bool stacks, std::vector<DoubtfulReference>& found) const {
  MemoryCursor cursor(heap_.image);
  for (const RootRange& range : heap_.roots.ranges()) {
    if (is_weak(range.kind) && !stacks) continue;
    if (range.kind == RootKind::Registers) {
      for_each_register(heap_.threads[range.thread], [&](std::uint64_t place, std::uint64_t word) {
        if (maybe(end_filter_, word)) find(true, place, word, found);
      });
      continue;
    }
    cursor.for_each_piece(range.begin, range.end, [&](std::uint64_t address, std::span<const std::byte> bytes) {
      for_each_gap(heap_.ranks, address, address + bytes.size(), [&](std::uint64_t begin, std::uint64_t end) {
        look(begin, bytes.subspan(begin - address, end - begin), found);
      });
    });
  }
}

void SecondLook::look_at_blocks(std::span<const std::uint8_t> wanted, std::vector<DoubtfulReference>& found) const {
  MemoryCursor cursor(heap_.image);
  walk_blocks(
      cursor, heap_.ranks, 0, heap_.ranks.size(), [&](std::uint32_t block) { return wanted[block] != 0; },
      [&](std::uint32_t, std::uint64_t address, std::span<const std::byte> bytes) {
        look(address, bytes, found);
        return true;
      });
}

} // namespace heaptape
