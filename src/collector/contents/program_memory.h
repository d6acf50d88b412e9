// Reads memory of another process.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "collector/contents/page_range.h"

namespace heaptape {

class ProgramMemory {
public:
  explicit ProgramMemory(pid_t pid) : pid_(pid) {}

  // Whole pages side by side; `bytes` is valid during the call. Empty bytes: the kernel refused that page.
  using Sink = std::function<void(std::uint64_t address, std::span<const std::byte> bytes)>;
  // All pages of the ranges, which are multiples of a page and in order. Many small ones cost one system call together. False: the process is
  // gone; what was read up to then was handed over.
  bool read(std::span<const PageRange> ranges, const Sink& sink);

private:
  struct Piece {
    std::uint64_t address;
    std::size_t bytes;
  };
  bool flush(const Sink& sink);
  bool read_page_by_page(const Piece& piece, std::span<std::byte> room, const Sink& sink);
  bool is_unmapped(const Piece& piece);

  pid_t pid_;
  std::vector<std::byte> buffer_;
  std::vector<Piece> pieces_;
  std::size_t filled_ = 0;
  std::vector<PageRange> mappings_; // at the last look
  std::uint64_t failures_ = 0;
};

} // namespace heaptape
