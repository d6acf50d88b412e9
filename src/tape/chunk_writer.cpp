#include "tape/chunk_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/system_error.h"

namespace heaptape {

namespace {

using format::ChunkType;
using format::Codec;

std::string write_sentence(const std::string& path, int error) {
  std::string why = system_message(error);
  if (error == ENOSPC) why = "the disk is full";
  if (error == EDQUOT) why = "the disk quota is used up";
  if (error == EFBIG) why = "it has reached the largest size a file may have here";
  return "cannot write to the tape '" + path + "': " + why + "; the tape ends at its last whole chunk";
}

// What a full disk must leave: the summary, which says that it was full, and the threads.
constexpr std::size_t kRoomForTheEnd = 16 * 1024;

bool belongs_to_the_end(ChunkType type) { return type == ChunkType::Summary || type == ChunkType::Threads; }

} // namespace

ChunkWriter::~ChunkWriter() {
  struct stat facts {};
  const auto end = static_cast<off_t>(end_offset_);
  // Room beyond the end goes back to the disk, unless somebody has already written there.
  if (has_room_ && fd_ && ::fstat(fd_.get(), &facts) == 0 && facts.st_size == end) (void)!::ftruncate(fd_.get(), end);
}

Result<> ChunkWriter::keep_room_behind(std::size_t bytes) {
  const auto from = static_cast<off_t>(end_offset_);
  if (::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, from, static_cast<off_t>(bytes + kRoomForTheEnd)) == 0) {
    has_room_ = true;
  } else if (errno == ENOSPC || errno == EDQUOT) {
    return Error{ErrorCode::Io, end_offset_, write_sentence(path_, errno)};
  } else if (errno != EINTR) {
    can_keep_room_ = false; // not every file system can
  }
  return Unit{};
}

Result<> ChunkWriter::write(ChunkType type, std::span<const std::byte> payload) {
  if (payload.size() > format::kMaxPayloadBytes)
    return Error{ErrorCode::Unsupported, "cannot write to the tape '" + path_ + "': a " +
                                             format::chunk_type_name(static_cast<std::uint8_t>(type)) +
                                             " entry is larger than a chunk may be"};
  stored_.clear();
  const bool smaller = compressor_.append(payload, stored_, format::kMaxRatio);
  return smaller ? write_stored(type, Codec::Zstd, payload.size(), stored_) : write_raw(type, payload);
}

Result<> ChunkWriter::write_raw(ChunkType type, std::span<const std::byte> payload) {
  return write_stored(type, Codec::Raw, payload.size(), payload);
}

Result<> ChunkWriter::write_stored(ChunkType type, Codec codec, std::size_t raw_bytes,
                                   std::span<const std::byte> stored) {
  format::ChunkHeader header{};
  header.sync = format::kSync;
  header.type = static_cast<std::uint8_t>(type);
  header.codec = static_cast<std::uint8_t>(codec);
  header.stored_bytes = static_cast<std::uint32_t>(stored.size());
  header.payload_checksum = format::checksum(stored);
  header.raw_bytes = static_cast<std::uint32_t>(raw_bytes);
  header.header_checksum = format::chunk_header_checksum(header);
  if (can_keep_room_ && !belongs_to_the_end(type)) {
    if (const Result<> kept = keep_room_behind(sizeof header + stored.size()); !kept) return kept.error();
  }
  return write_whole(std::as_bytes(std::span(&header, 1)), stored);
}

Result<> ChunkWriter::write_whole(std::span<const std::byte> head, std::span<const std::byte> body) {
  if (failed_) return *failed_;
  const std::size_t size = head.size() + body.size();
  for (std::size_t done = 0; done < size;) {
    iovec parts[2];
    int count = 0;
    const auto add = [&](std::span<const std::byte> part) {
      if (!part.empty()) parts[count++] = {const_cast<std::byte*>(part.data()), part.size()};
    };
    add(head.subspan(std::min(done, head.size())));
    add(body.subspan(done - std::min(done, head.size())));
    const ssize_t written = ::writev(fd_.get(), parts, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const Error error{ErrorCode::Io, end_offset_, write_sentence(path_, written < 0 ? errno : ENOSPC)};
      const auto end = static_cast<off_t>(end_offset_);
      if (done != 0 && (::ftruncate(fd_.get(), end) != 0 || ::lseek(fd_.get(), end, SEEK_SET) != end)) failed_ = error;
      return error;
    }
    done += static_cast<std::size_t>(written);
  }
  end_offset_ += size;
  return Unit{};
}

} // namespace heaptape
