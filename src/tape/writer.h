// Writes one tape, chunk after chunk. Owned by the collector's writing thread; one thread at a time. Every chunk is
// whole on disk before the call returns (one write call per chunk), so a killed collector leaves a readable tape. When
// a write fails (disk full, file size limit), the file is cut back to its last whole chunk and the call returns Error
// Io with a sentence for the user: what is on disk is a good tape up to there, and a later, smaller chunk may still
// fit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "tape/chunk_writer.h"
#include "tape/contents.h"
#include "tape/cpu_profile.h"
#include "tape/crash.h"
#include "tape/event_encoder.h"
#include "tape/format.h"
#include "tape/inherited.h"
#include "tape/maps.h"
#include "tape/memory_snapshot.h"
#include "tape/residency.h"
#include "tape/symbols.h"

namespace heaptape {

struct CreateTape {
  std::string path;
  bool overwrite = false;
  std::uint64_t start_realtime_ns = 0; // wall clock at time 0 of the tape
  std::uint32_t pid = 0;
};

class TapeWriter {
public:
  // Creates the file (create_tape_file) and writes the header.
  static Result<TapeWriter> create(const CreateTape& options);

  // What is too large for one chunk is spread over several.
  Result<> add_meta(const Meta& meta);
  Result<> add_modules(std::span<const Module> modules);
  Result<> add_threads(std::span<const Thread> threads); // a later entry with the same id replaces the earlier one
  // Ids follow the ones given so far; a parent is known before, or earlier in the same call.
  Result<> add_stacks(StackId first, std::span<const StackNode> nodes);
  Result<> add_samples(std::span<const Sample> samples);
  Result<> add_marks(std::span<const Mark> marks);
  Result<> add_odd_calls(const OddCalls& odd); // later ones of a tape come later in its events
  // The same. Without errors: what the program ran with, and the number of those left out.
  Result<> add_memory_errors(const MemoryErrors& errors);
  Result<> add_crashes(std::span<const Crash> crashes); // not many
  Result<> add_pools(std::span<const Pool> pools);      // a later entry with the same number replaces the earlier one
  // `number` counts the moments of the recording, from 0. All of it must fit into one chunk.
  Result<> add_maps(std::uint64_t number, const MapsChange& change, const MapNames& names);
  // Without `look`: the peak alone. All of it must fit into one chunk.
  Result<> add_residency(const Residency* look, std::uint64_t peak_rss_bytes);
  // Adds to the profile so far; a segment given again replaces the earlier. Stacks it names are given before.
  Result<> add_cpu(const CpuProfile& more);
  Result<> add_events(EventEncoder& encoder); // encoder.finish() and write; nothing when it is empty
  Result<> add_forks(std::span<const ForkMade> forks);
  // A PAGES payload (put_pages), then a snapshot that names such pages; `names` are those of its regions.
  Result<> add_pages(std::span<const std::byte> payload);
  Result<> add_snapshot(const MemorySnapshot& snapshot, const MapNames& names);
  Result<> add_summary(const Summary& summary);
  Result<> add_symbols(const Symbols& symbols); // names given now replace earlier ones of the same addresses

  // The same names and numbers as the finished file has.
  std::uint64_t bytes_written() const { return chunks_.end_offset(); }
  const std::string& path() const { return chunks_.path(); }
  // Open for reading too. What the file's name is by now does not matter.
  int fd() const { return chunks_.fd(); }

private:
  explicit TapeWriter(ChunkWriter chunks);

  // Writes raw_ as one chunk and clears it.
  Result<> write_chunk(format::ChunkType type);

  ChunkWriter chunks_;
  std::vector<std::byte> raw_; // payload being built
};

} // namespace heaptape
