// The bytes of a tape, from a file or from memory. Files are read with pread, not mapped: a tape may be cut back while
// it is read (a writer whose disk is full does that), and a mapping would turn that into SIGBUS. Const calls may come
// from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace heaptape {

class TapeSource {
public:
  static Result<TapeSource> open(const std::string& path);
  // A file that is open for reading; `path` is for the sentences of errors.
  static Result<TapeSource> adopt(UniqueFd fd, const std::string& path);
  // The bytes must outlive the source.
  static TapeSource from_bytes(std::span<const std::byte> bytes);

  // As seen when it was opened.
  std::uint64_t size() const { return size_; }

  // The bytes [offset, offset + size), or as many of them as there are. They may lie in `buffer`, and are valid as long
  // as that is unchanged. An unreadable file gives fewer bytes, never an error.
  std::span<const std::byte> read(std::uint64_t offset, std::size_t size, std::vector<std::byte>& buffer) const;

private:
  TapeSource() = default;
  UniqueFd fd_;
  std::span<const std::byte> bytes_; // when fd_ is none
  std::uint64_t size_ = 0;
};

} // namespace heaptape
