// Memory made up by tests: bytes are put at addresses, and the pages they touch become a table and a source.
#pragma once

#include <atomic>
#include <cstring>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/memory/memory_image.h"

namespace heaptape {

class PagesForTest : public PageSource {
public:
  void put(std::uint64_t address, std::span<const std::byte> bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) page(address + i)[(address + i) % kPageBytes] = bytes[i];
  }
  void put_word(std::uint64_t address, std::uint64_t word) { put(address, std::as_bytes(std::span(&word, 1))); }
  void put_text(std::uint64_t address, std::string_view text) { put(address, std::as_bytes(std::span(text))); }
  // The page exists, all zero unless something was put there.
  void touch(std::uint64_t address) { page(address); }

  // What was put so far; pages are numbered from 1 by address, and neighbours with numbers that follow each other are one run.
  std::vector<PageRun> runs() {
    std::vector<PageRun> runs;
    numbers_.clear();
    for (const auto& [address, bytes] : pages_) {
      numbers_.push_back(address);
      if (!runs.empty() && runs.back().end == address)
        runs.back().end += kPageBytes;
      else
        runs.push_back({address, address + kPageBytes, PageState::Stored, numbers_.size()});
    }
    return runs;
  }

  std::uint64_t end() const override { return numbers_.size() + 1; }
  bool unpack(std::uint64_t page, PageChunk& chunk) const override {
    ++unpacked;
    if (page == 0 || page > numbers_.size() || page == damaged) return false;
    chunk.first = (page - 1) / pages_per_chunk * pages_per_chunk + 1;
    chunk.bytes.clear();
    for (std::uint64_t number = chunk.first; number < chunk.first + pages_per_chunk && number <= numbers_.size();
         ++number) {
      if (number == damaged) break;
      const std::vector<std::byte>& bytes = pages_.at(numbers_[number - 1]);
      chunk.bytes.insert(chunk.bytes.end(), bytes.begin(), bytes.end());
    }
    return true;
  }

  std::uint64_t pages_per_chunk = kPagesPerChunk;
  std::uint64_t damaged =
      0; // number of a page that cannot be read; the first of its chunk, or the last readable one is before it
  mutable std::atomic<std::size_t> unpacked = 0;

private:
  std::vector<std::byte>& page(std::uint64_t address) {
    std::vector<std::byte>& bytes = pages_[address & ~(kPageBytes - 1)];
    bytes.resize(kPageBytes);
    return bytes;
  }

  std::map<std::uint64_t, std::vector<std::byte>> pages_;
  std::vector<std::uint64_t> numbers_;
};

} // namespace heaptape
