// Adds chunks to a tape whose recording has ended. One appender at a time, over all processes: the file is locked. What
// it adds is seen by readers that open the tape afterwards; a crash on the way leaves a good tape. One thread at a
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"
#include "tape/chunk_writer.h"
#include "tape/format.h"
#include "tape/reader.h"

namespace heaptape {

// A tape to add to: by its name, or by a descriptor that is open for reading and writing, whatever its name is by now. The
// descriptor stays the caller's; the name is then for sentences alone.
struct TapeToFinish {
  TapeToFinish(std::string tape) : path(std::move(tape)) {}
  TapeToFinish(const char* tape) : path(tape) {}
  TapeToFinish(std::string tape, int open_file) : path(std::move(tape)), fd(open_file) {}
  std::string path;
  int fd = -1; // none
};

class TapeAppender {
public:
  // Refuses a tape without a summary (Unsupported: it is still being written, or was cut off), one that may not be
  // written to (Denied), one that is locked by another appender (Exists), and anything that is not a tape. The file is
  // opened once: what is read is what is written to. Writes nothing yet.
  static Result<TapeAppender> open(const TapeToFinish& tape);

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
