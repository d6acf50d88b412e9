// Where a reader's bytes come from: a file, read piece by piece so that one that shrinks meanwhile does no harm, or memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace heaptape {

class ByteSource {
public:
  static Result<ByteSource> open(const std::string& path);
  explicit ByteSource(std::span<const std::byte> bytes) : memory_(bytes), size_(bytes.size()) {}

  std::uint64_t size() const { return size_; }
  // Fills `into` from `offset` on; false when there is not so much.
  bool read(std::uint64_t offset, std::span<std::byte> into) const;

private:
  ByteSource(UniqueFd fd, std::uint64_t size) : fd_(std::move(fd)), size_(size) {}

  UniqueFd fd_;
  std::span<const std::byte> memory_;
  std::uint64_t size_ = 0;
};

} // namespace heaptape
