// Adds chunks to a tape whose recording has ended. One appender at a time, over all processes: the file is locked. What
// it adds is seen by readers that open the tape afterwards; a crash on the way leaves a good tape. One thread at a
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "tape/chunk_writer.h"
#include "tape/format.h"
#include "tape/reader.h"

namespace heaptape {

class TapeAppender {
public:
  // Refuses a tape without a summary (Unsupported: it is still being written, or was cut off), one that may not be
  // written to (Denied), one that is locked by another appender (Exists), and anything that is not a tape. Writes
  // nothing yet.
  static Result<TapeAppender> open(const std::string& path);

  // The tape as it is, without what is added. Const calls may come from any thread.
  const TapeReader& tape() const { return tape_; }

  // Adds one chunk and gives its offset. The first call cuts off a torn tail, and parts of an index that was never
  // finished.
  Result<std::uint64_t> add(format::ChunkType type, std::span<const std::byte> payload);

  // The end of what was added.
  std::uint64_t end_offset() const { return chunks_.end_offset(); }

  // Removes all that was added; nothing may be added afterwards.
  void undo();

private:
  TapeAppender(TapeReader tape, UniqueFd fd, std::string path);

  TapeReader tape_;
  int fd_; // owned by chunks_
  bool cut_ = false;
  ChunkWriter chunks_;
};

} // namespace heaptape
