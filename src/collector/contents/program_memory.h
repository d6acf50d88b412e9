// Reads memory of another process.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace heaptape {

struct PageRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  friend bool operator==(const PageRange&, const PageRange&) = default;
};

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

  pid_t pid_;
  std::vector<std::byte> buffer_;
  std::vector<Piece> pieces_;
  std::size_t filled_ = 0;
};

} // namespace heaptape
