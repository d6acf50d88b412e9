#include "tape/chunk_scanner.h"

#include <algorithm>
#include <cstring>

namespace heaptape {

namespace {

constexpr std::size_t kHeaderBytes = sizeof(format::ChunkHeader);
constexpr std::size_t kFirstSearchBytes = std::size_t{4} << 10;
constexpr std::size_t kMaxSearchBytes = std::size_t{256} << 10;
// Hostile files can make us read the same payload again and again; beyond this we trust lengths instead.
constexpr std::uint64_t kWasteLimit = std::uint64_t{64} << 20;

bool is_read_later(const format::ChunkHeader& header) {
  const auto type = static_cast<format::ChunkType>(header.type);
  return type == format::ChunkType::Events || type == format::ChunkType::IndexPart || type == format::ChunkType::Pages;
}

} // namespace

std::optional<format::ChunkHeader> parse_chunk_header(std::span<const std::byte> bytes, Checksums checksums) {
  format::ChunkHeader header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.sync != format::kSync) return std::nullopt;
  if (checksums == Checksums::Verify && header.header_checksum != format::chunk_header_checksum(header))
    return std::nullopt;
  if (header.stored_bytes > format::kMaxPayloadBytes || header.raw_bytes > format::kMaxPayloadBytes)
    return std::nullopt;
  return header;
}

std::optional<std::span<const std::byte>> unpack_payload(const format::ChunkHeader& header,
                                                         std::span<const std::byte> stored, Decompressor& decompressor,
                                                         std::vector<std::byte>& buffer) {
  if (header.codec == static_cast<std::uint8_t>(format::Codec::Raw)) return stored;
  if (header.codec != static_cast<std::uint8_t>(format::Codec::Zstd) ||
      header.raw_bytes > format::kMaxRatio * header.stored_bytes)
    return std::nullopt;
  buffer.resize(header.raw_bytes);
  if (!decompressor.fill(stored, buffer)) return std::nullopt;
  return buffer;
}

std::optional<FoundChunk> ChunkScanner::block_at(std::uint64_t offset) {
  const auto header = parse_chunk_header(source_.read(offset, kHeaderBytes, small_), checksums_);
  if (!header) return std::nullopt;
  return FoundChunk{offset, *header};
}

std::span<const std::byte> ChunkScanner::payload(const FoundChunk& chunk) {
  return source_.read(chunk.payload_offset(), chunk.header.stored_bytes, buffer_);
}

bool ChunkScanner::payload_holds(const FoundChunk& chunk) {
  const auto bytes = payload(chunk);
  if (bytes.size() != chunk.header.stored_bytes) return false;
  return checksums_ == Checksums::Ignore || format::checksum(bytes) == chunk.header.payload_checksum;
}

std::optional<FoundChunk> ChunkScanner::find_after(std::uint64_t offset) {
  std::byte sync[sizeof format::kSync];
  std::memcpy(sync, &format::kSync, sizeof sync);
  std::uint64_t at = offset + 1;
  // The next chunk is often near: read little at first, so that many damaged places do not cost a large read each.
  for (std::size_t bytes = kFirstSearchBytes; at < source_.size(); bytes = std::min(2 * bytes, kMaxSearchBytes)) {
    const auto chunk = source_.read(at, bytes, buffer_);
    if (chunk.size() < kHeaderBytes) return std::nullopt;
    for (auto from = chunk.begin(); from != chunk.end();) {
      const auto hit = std::search(from, chunk.end(), std::begin(sync), std::end(sync));
      if (hit == chunk.end()) break;
      const auto found = block_at(at + static_cast<std::uint64_t>(hit - chunk.begin()));
      if (found && found->end() <= source_.size()) return found;
      from = hit + 1;
    }
    // A marker may lie across the end of this chunk.
    at += chunk.size() - (sizeof sync - 1);
  }
  return std::nullopt;
}

void ChunkScanner::skip(std::uint64_t to, const char* reason) {
  damage_.push_back({offset_, to - offset_, reason});
  offset_ = to;
}

std::optional<FoundChunk> ChunkScanner::next() {
  while (offset_ < source_.size()) {
    const auto here = block_at(offset_);
    const bool fits = here && here->end() <= source_.size();
    if (fits) {
      const bool joined = here->end() == source_.size() || block_at(here->end());
      if (joined && is_read_later(here->header)) {
        offset_ = here->end();
        return here;
      }
      if (payload_holds(*here)) {
        offset_ = here->end();
        return here;
      }
      // The length is right when another chunk follows, and good enough when the file is out to waste our time.
      wasted_bytes_ += here->header.stored_bytes;
      if (joined || wasted_bytes_ > kWasteLimit) {
        skip(here->end(), "checksum differs");
        continue;
      }
    }
    const auto later = find_after(offset_);
    const char* reason = fits ? "checksum differs" : "no chunk header";
    if (!later && ((here && !fits) || source_.size() - offset_ < kHeaderBytes)) reason = "cut off";
    skip(later ? later->offset : source_.size(), reason);
  }
  return std::nullopt;
}

} // namespace heaptape
