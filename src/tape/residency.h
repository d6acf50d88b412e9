// Which pages of the program were in memory at a moment, and how many there were at most: plain values on their way onto a tape and
// back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace heaptape {

// Neighbouring pages that are in memory and of one sort.
struct ResidentRun {
  std::uint64_t begin = 0; // multiples of kMapUnit
  std::uint64_t end = 0;
  bool of_file = false; // of a file or of shared memory; else private and anonymous

  std::uint64_t bytes() const { return end - begin; }
  friend bool operator==(const ResidentRun&, const ResidentRun&) = default;
};

// One look at all pages. The program went on meanwhile.
struct Residency {
  std::uint64_t time_us = 0;       // when it began
  std::uint64_t rss_bytes = 0;     // resident by the kernel's own count, at that time
  bool whole = false;              // every mapping was looked at
  std::vector<ResidentRun> runs{}; // by address, not overlapping
  friend bool operator==(const Residency&, const Residency&) = default;
};

// What a tape knows: of all looks the one at which most was resident, and the highest value that the kernel ever reported.
struct ResidentFacts {
  std::optional<Residency> highest{};
  std::uint64_t peak_rss_bytes = 0; // VmHWM; 0: not known
};

// The payload of a RESIDENT chunk, before compression. Without `look` it says the peak alone.
void put_residency(const Residency* look, std::uint64_t peak_rss_bytes, std::vector<std::byte>& out);
// Adds to what earlier chunks gave. Takes hostile bytes; false when they make no sense.
bool parse_residency(std::span<const std::byte> payload, ResidentFacts& facts);

} // namespace heaptape
