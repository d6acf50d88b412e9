// Keeps the pages that a taker writes, and reads them back.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "collector/contents/snapshot_taker.h"
#include "tape/memory_snapshot_codec.h"

namespace heaptape {

struct Tape final : SnapshotHost {
  std::map<std::uint64_t, std::vector<std::byte>> pages; // by number
  int cuts = 0;
  bool attended = false, let_gone = false, full = false;

  bool attend() override { return attended = true; }
  std::optional<SnapshotCut> cut() override {
    ++cuts;
    return SnapshotCut{.event = 5, .time_us = 6};
  }
  void let_go() override { let_gone = true; }
  void let_end() override {}
  bool write(std::vector<std::byte> payload) override {
    if (full) return false;
    const auto head = parse_pages_head(payload, Checksums::Verify);
    const auto bytes = parse_pages(payload, Checksums::Verify);
    if (!head || !bytes) return false;
    for (std::uint64_t i = 0; i < head->count; ++i) {
      const auto at = bytes->begin() + static_cast<std::ptrdiff_t>(i * kPageBytes);
      pages[head->first + i].assign(at, at + static_cast<std::ptrdiff_t>(kPageBytes));
    }
    return true;
  }
};

inline const PageRun* run_at(const std::vector<PageRun>& runs, std::uint64_t address) {
  for (const PageRun& run : runs) {
    if (address >= run.begin && address < run.end) return &run;
  }
  return nullptr;
}

inline std::uint64_t word_at(const Tape& tape, const std::vector<PageRun>& runs, std::uint64_t address) {
  const PageRun* const run = run_at(runs, address);
  if (run == nullptr || run->state != PageState::Stored) return 0;
  const auto page = tape.pages.find(run->value + (address - run->begin) / kPageBytes);
  if (page == tape.pages.end()) return 0;
  std::uint64_t word = 0;
  std::memcpy(&word, page->second.data() + address % kPageBytes, sizeof word);
  return word;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif
// A child of a sanitized process has gigabytes of its own, which take long to copy.
inline std::vector<SnapshotMethod> methods() {
  if (kSanitized) return {SnapshotMethod::Stop};
  return {SnapshotMethod::Stop, SnapshotMethod::Live, SnapshotMethod::Twin};
}

} // namespace heaptape
