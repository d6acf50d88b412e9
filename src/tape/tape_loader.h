// One pass over the chunks of a tape: everything but the events, and where these are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tape/contents.h"
#include "tape/cpu_profile.h"
#include "tape/crash.h"
#include "tape/inherited_codec.h"
#include "tape/maps.h"
#include "tape/memory_snapshot.h"
#include "tape/residency.h"
#include "tape/symbols.h"
#include "tape/tape_parts.h"
#include "tape/tape_source.h"

namespace heaptape {

// The fields are those of TapeReader.
struct LoadedTape {
  TapeSource source;
  Checksums checksums = Checksums::Verify;
  TapeHeader header{};
  Meta meta{};
  std::vector<Module> modules{};
  std::vector<Thread> threads{};
  std::vector<StackNode> stacks = std::vector<StackNode>(1);
  std::vector<Sample> samples{};
  std::vector<Mark> marks{};
  std::vector<Pool> pools{};
  OddCalls odd_calls{};
  MemoryErrors memory_errors{};
  std::vector<Crash> crashes{};
  Maps maps{};
  Snapshots snapshots{};
  std::vector<PagesChunk> pages_chunks{};
  ResidentFacts resident{};
  CpuProfile cpu{};
  std::optional<Summary> summary{};
  Symbols symbols{};
  std::vector<Damage> damage{};
  std::vector<ChunkTypeSize> chunk_sizes{};
  std::vector<EventChunkInfo> event_chunks{};
  std::uint64_t event_count = 0;
  std::uint64_t events_fingerprint = 0;
  std::vector<std::byte> index{};
  std::uint64_t append_offset = 0;
  std::uint64_t unknown_chunks = 0;
  std::vector<ForkMade> forks{};
  std::optional<Inheritance> inheritance{};
  struct InheritedChunk {
    std::uint64_t offset;
    InheritedExtent extent;
  };
  std::vector<InheritedChunk> inherited_chunks{};
  std::vector<InheritedBlock> inherited_here{};    // that no chunk holds: see TapeReader::inherit
  std::vector<std::uint64_t> inherited_releases{}; // numbers of events, in order
};

// What stands in front of the chunks.
struct TapeHead {
  TapeHeader header{};
  std::uint64_t first_chunk = 0; // its offset
  bool damaged = false;          // the header is; but a good chunk follows, so this is a tape
};

// Every reader of tapes begins here, so all refuse the same files with the same sentences: what is empty, foreign, cut
// off in its header, or of another version (with both versions). `name` is for these sentences.
Result<TapeHead> read_tape_head(const TapeSource& source, const std::string& name, Checksums checksums);

// A block from before the fork was live, though the collector of this process alone could not know it: its release is not an
// odd call.
void forget_inherited_releases(LoadedTape& tape);

Result<LoadedTape> load_tape(TapeSource source, const std::string& name, Checksums checksums);

} // namespace heaptape
