// Puts chunks at the end of a tape, each by one write call. When a write fails (disk full, file size limit), the file
// is cut back to its last whole chunk and the call returns Error Io with a sentence for the user: what is on disk is a
// good tape up to there, and a later, smaller chunk may still fit. Where the file system can, room for the end of the tape
// is set aside before every other chunk. One thread at a time. Private to tape/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "tape/compression.h"
#include "tape/format.h"

namespace heaptape {

class ChunkWriter {
public:
  // The file's position must be `end_offset`, the end of its last whole chunk.
  ChunkWriter(UniqueFd fd, std::string path, std::uint64_t end_offset)
      : fd_(std::move(fd)), path_(std::move(path)), end_offset_(end_offset) {}
  ChunkWriter(ChunkWriter&&) = default;
  ~ChunkWriter();

  // One chunk with this payload, compressed if that pays.
  Result<> write(format::ChunkType type, std::span<const std::byte> payload);
  // One chunk with this payload as it is; it is within the format's limits.
  Result<> write_raw(format::ChunkType type, std::span<const std::byte> payload);
  // Bytes that are not a chunk: the file header.
  Result<> write_bytes(std::span<const std::byte> bytes) { return write_whole(bytes, {}); }

  // The end of the last whole chunk.
  std::uint64_t end_offset() const { return end_offset_; }
  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }

private:
  Result<> write_stored(format::ChunkType type, format::Codec codec, std::size_t raw_bytes,
                        std::span<const std::byte> stored);
  Result<> keep_room_behind(std::size_t bytes);
  Result<> write_whole(std::span<const std::byte> head, std::span<const std::byte> body);

  UniqueFd fd_;
  std::string path_;
  std::uint64_t end_offset_;
  bool can_keep_room_ = true;   // until the file system refuses
  bool has_room_ = false;       // beyond end_offset_
  std::optional<Error> failed_; // a torn chunk could not be cut off; nothing may be written after it
  Compressor compressor_;
  std::vector<std::byte> stored_;
};

} // namespace heaptape
