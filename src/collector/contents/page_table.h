// What is known of each page of the program, while it is being copied: eight bytes for each, in drawers of 2 MiB. One thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "tape/memory_snapshot.h"

namespace heaptape {

class PageTable {
public:
  // `value` as in PageRun.
  void set(std::uint64_t address, PageState state, std::uint64_t value = 0);
  // All pages of [begin, end).
  void clear(std::uint64_t begin, std::uint64_t end);
  void clear();

  // Adds what is set in [begin, end) to `runs`; what is not set gets this state (None: it is left out).
  void append_runs(std::uint64_t begin, std::uint64_t end, PageState otherwise, std::vector<PageRun>& runs) const;

private:
  static constexpr std::uint64_t kPages = 512;
  static constexpr std::uint64_t kDrawerBytes = kPages * kPageBytes;
  // 0: not set; else the state in the low three bits, and above them the page's number or that of its word.
  using Drawer = std::array<std::uint64_t, kPages>;

  PageRun run_of(std::uint64_t address, std::uint64_t entry) const;

  std::map<std::uint64_t, Drawer> drawers_; // by address
  std::vector<std::uint64_t> words_;        // of Fill
  std::unordered_map<std::uint64_t, std::uint64_t> word_numbers_;
};

} // namespace heaptape
