// Reads a tape while it is being written: each poll() gives what was added since the one before to a watcher, as the
// collector would have. Holds no events; what it needs is one block. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "collector/events/event_watcher.h"
#include "tape/contents.h"
#include "tape/reader.h"

namespace heaptape {

class TapeFollower {
public:
  // The tape may be empty yet but for its header.
  static Result<TapeFollower> open(const std::string& path);
  // Grows by grow(). For tests and the fuzzer; the bytes are read at each poll.
  static Result<TapeFollower> from_bytes(const std::vector<std::byte>& bytes, Checksums checksums = Checksums::Verify);

  TapeFollower(TapeFollower&&) noexcept;
  TapeFollower& operator=(TapeFollower&&) noexcept;
  ~TapeFollower();

  // Reads on to the last whole block, or until `most_events` are read; true when there is more to read at once. A block
  // that makes no sense is left out. on_round() is called at the end, with the time up to which the tape is known.
  bool poll(EventWatcher& watcher, std::uint64_t most_events = ~std::uint64_t{0});

  const TapeHeader& header() const;
  const Meta& meta() const;
  // The recording is complete; nothing comes any more.
  const std::optional<Summary>& summary() const;
  // As far as the tape is read.
  std::uint64_t time_us() const;
  std::uint64_t bytes_read() const;
  std::uint64_t damaged_blocks() const;
  // The last of the kernel's words about memory, CPU time and threads; nothing yet: absent.
  const std::optional<Sample>& sample() const;

private:
  struct State;
  explicit TapeFollower(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace heaptape
