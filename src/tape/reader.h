// Reads a tape: everything but the events at once, the events as a stream. A damaged or cut-off tape is input, not an
// error: every whole chunk is read and what was skipped is in `damage()`. Reading while the tape is being written is
// allowed: the end seen when it was opened is the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "tape/contents.h"
#include "tape/cpu_profile.h"
#include "tape/crash.h"
#include "tape/event.h"
#include "tape/format.h"
#include "tape/inherited.h"
#include "tape/maps.h"
#include "tape/memory_snapshot.h"
#include "tape/residency.h"
#include "tape/symbols.h"
#include "tape/tape_parts.h"

namespace heaptape {

class EventCursor;
class TapeSource;

// Const calls may come from any thread.
class TapeReader {
public:
  // Reads all but the events; of these only how many there are and when. Takes milliseconds, however long the tape.
  static Result<TapeReader> open(const std::string& path);
  // The same for a file that is open for reading, whatever its name is by now.
  static Result<TapeReader> adopt(UniqueFd fd, const std::string& path);
  // The bytes must outlive the reader. For tests and the fuzzer.
  static Result<TapeReader> from_bytes(std::span<const std::byte> file, std::string name,
                                       Checksums checksums = Checksums::Verify);

  TapeReader(TapeReader&&) noexcept;
  TapeReader& operator=(TapeReader&&) noexcept;
  ~TapeReader();

  const TapeHeader& header() const;
  const Meta& meta() const;
  const std::vector<Module>& modules() const;
  const std::vector<Thread>& threads() const;   // by id; a damaged tape may lack some
  const std::vector<StackNode>& stacks() const; // index = StackId; [0] is "no stack"
  const std::vector<Sample>& samples() const;
  const std::vector<Mark>& marks() const;     // in order
  const OddCalls& odd_calls() const;          // their stacks are on the tape, or 0
  const MemoryErrors& memory_errors() const;  // in the order of the events; their stacks are on the tape, or 0
  const std::vector<Crash>& crashes() const;  // in order; their stacks are on the tape, or 0
  const Crash* crash() const;                 // the one that the program died of; nullptr: none is known
  const std::vector<Pool>& pools() const;     // by number; a damaged tape may lack some
  const Maps& maps() const;                   // empty: an older tape, or /proc could not be read
  const ResidentFacts& resident() const;      // empty: an older tape, or the kernel did not say
  const Snapshots& snapshots() const;         // of memory
  const CpuProfile& cpu() const;              // stacks it names are on the tape, or 0
  const std::vector<ForkMade>& forks() const; // that the program made, in order
  const std::optional<Inheritance>& inheritance() const; // absent: no recorded program forked it, or nothing is known
  const std::optional<Summary>& summary() const;         // absent: the recording was cut off, or is still running
  const Symbols& symbols() const;                        // empty: the tape was never symbolized, or nothing was known
  const std::vector<Damage>& damage() const;
  const std::vector<ChunkTypeSize>& chunk_sizes() const; // by chunk type, only those that occur
  const std::vector<EventChunkInfo>& event_chunks() const;
  std::uint64_t file_bytes() const;
  std::uint64_t event_count() const; // in the readable chunks
  // Tells these events from all others: a hash over place and checksum of every readable chunk of events.
  std::uint64_t events_fingerprint() const;
  std::uint64_t unknown_chunks() const; // of a type, or with flags, that only a newer heaptape knows

  // Blocks from before the fork that share a byte with [begin, end), by address. Empty without inheritance(). Reads their
  // chunks each time; what is damaged is missing.
  std::vector<InheritedBlock> inherited_blocks(std::uint64_t begin = 0, std::uint64_t end = ~std::uint64_t{0}) const;

  // Where the pages of snapshots lie, by number; a damaged tape may lack some.
  const std::vector<PagesChunk>& pages_chunks() const;
  // All pages of one of them, one behind the other; nothing when it is damaged.
  std::optional<std::vector<std::byte>> read_pages(const PagesChunk& chunk) const;

  // For a tape whose recording goes on, and that has no inheritance() yet: as if it had chunks that say this, and the
  // stacks behind its own. Blocks by address, releases in order.
  void inherit(std::span<const StackNode> stacks, Inheritance figures, std::vector<InheritedBlock> blocks,
               std::vector<std::uint64_t> releases);

  // Reads chunks of events and pages and compares their checksums, which opening leaves for later: about as quick as the disk. If
  // they have more bytes than `most`, only as many of them, evenly spread.
  std::vector<Damage> check_event_chunks(std::uint64_t most = ~std::uint64_t{0}) const;

  // Payload of the last whole INDEX chunk; empty: there is none.
  const std::vector<std::byte>& index() const;
  // Payload of the INDEX PART chunk that begins at this offset; nothing when there is none, or it is damaged.
  std::optional<std::vector<std::byte>> read_index_part(std::uint64_t offset) const;
  // Where a chunk may be appended: the end of the file, or of its last whole chunk when the last one is torn or is part
  // of an index that was never finished.
  std::uint64_t append_offset() const;

  // A cursor before the first event whose number is >= first. Valid as long as the reader.
  EventCursor events(std::uint64_t first = 1) const;
  EventCursor events_from_time(std::uint64_t time_us) const;

private:
  friend class EventCursor;
  struct State;
  explicit TapeReader(std::unique_ptr<State> state);
  std::optional<std::vector<std::byte>> read_payload(std::uint64_t offset, format::ChunkType type) const;
  static Result<TapeReader> of_source(Result<TapeSource> source, const std::string& path);
  std::unique_ptr<State> state_;
};

// Walks over the events in order; decodes a few at a time, so it needs little memory. An event's stack is always an
// index into stacks(): one that the tape does not hold (its chunk was damaged) reads as 0. One thread at a time.
class EventCursor {
public:
  EventCursor(EventCursor&&) noexcept;
  EventCursor& operator=(EventCursor&&) noexcept;
  ~EventCursor();

  // The next event; nullptr at the end. Valid until the next call. Chunks that turn out damaged are skipped and
  // counted.
  const Event* next() {
    if (at_ == end_ && !refill()) return nullptr;
    return at_++;
  }
  // The event that next() will give, without going on; nullptr at the end.
  const Event* peek() {
    if (at_ == end_ && !refill()) return nullptr;
    return at_;
  }
  // The next events, as many as are decoded; empty at the end. Valid until the next call. The fast way through a tape.
  std::span<const Event> next_run() {
    if (at_ == end_ && !refill()) return {};
    const std::span<const Event> run(at_, end_);
    at_ = end_;
    return run;
  }
  // As next_run(), but only events up to and including this number; empty also when the next one is beyond it.
  std::span<const Event> next_run_until(std::uint64_t number) {
    if (peek() == nullptr || at_->number > number) return {};
    // What is decoded together has consecutive numbers.
    const std::uint64_t wanted = number - at_->number + 1;
    const auto decoded = static_cast<std::uint64_t>(end_ - at_);
    const std::span<const Event> run(at_, static_cast<std::size_t>(wanted < decoded ? wanted : decoded));
    at_ += run.size();
    return run;
  }
  // As next_run(), but decoded into `room`, which is not empty; what next_run() or next() would still give comes first.
  std::span<const Event> next_run(std::span<Event> room);
  // Goes to one chunk of TapeReader::event_chunks(), by its place there, and ends behind it. Events before the one that
  // the cursor was made for are still passed over; its list of damage starts over.
  void read_chunk(std::size_t chunk);
  // How many chunks could not be decoded so far, in whole or in part.
  std::uint64_t skipped_chunks() const;
  // Where they are and what is wrong with each.
  const std::vector<Damage>& damage() const;
  // How many events so far named a stack that is not on the tape.
  std::uint64_t unknown_stacks() const;

private:
  friend class TapeReader;
  struct State;
  explicit EventCursor(std::unique_ptr<State> state);
  bool refill();
  std::span<const Event> decode(std::span<Event> room);

  std::unique_ptr<State> state_;
  const Event* at_ = nullptr; // what is decoded and not yet given
  const Event* end_ = nullptr;
};

} // namespace heaptape
