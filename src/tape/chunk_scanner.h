// Finds the chunks of a tape one by one, and the next good one after damage.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tape/compression.h"
#include "tape/format.h"
#include "tape/tape_parts.h"
#include "tape/tape_source.h"

namespace heaptape {

struct FoundChunk {
  std::uint64_t offset = 0; // of the chunk header in the file
  format::ChunkHeader header{};

  std::uint64_t payload_offset() const { return offset + sizeof header; }
  std::uint64_t end() const { return payload_offset() + header.stored_bytes; }
};

// One thread at a time; the source must outlive it.
class ChunkScanner {
public:
  ChunkScanner(const TapeSource& source, std::uint64_t first_chunk, Checksums checksums)
      : source_(source), offset_(first_chunk), checksums_(checksums) {}

  // The next chunk whose header and length are good; nullopt at the end. What had to be skipped before it is in
  // damage(). The payload of an EVENTS, PAGES or INDEX PART chunk is not looked at as long as another chunk or the end of the
  // file follows it; all other payloads have the right checksum.
  std::optional<FoundChunk> next();

  // The payload of the chunk that next() gave last. Valid until the next call of any kind.
  std::span<const std::byte> payload(const FoundChunk& chunk);

  const std::vector<Damage>& damage() const { return damage_; }

private:
  std::optional<FoundChunk> block_at(std::uint64_t offset);
  std::optional<FoundChunk> find_after(std::uint64_t offset);
  bool payload_holds(const FoundChunk& chunk);
  void skip(std::uint64_t to, const char* reason);

  const TapeSource& source_;
  std::uint64_t offset_;
  Checksums checksums_;
  std::uint64_t wasted_bytes_ = 0; // of payloads that were read for nothing
  std::vector<std::byte> small_;
  std::vector<std::byte> buffer_;
  std::vector<Damage> damage_;
};

// The header at the front of `bytes`, if it is whole and right and its lengths are within the format's limits.
std::optional<format::ChunkHeader> parse_chunk_header(std::span<const std::byte> bytes, Checksums checksums);

// The payload of a chunk, decompressed where it is not raw; it may lie in `buffer`. Nothing when it makes no sense.
std::optional<std::span<const std::byte>> unpack_payload(const format::ChunkHeader& header,
                                                         std::span<const std::byte> stored, Decompressor& decompressor,
                                                         std::vector<std::byte>& buffer);

} // namespace heaptape
