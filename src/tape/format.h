// The fixed-size parts of a tape, byte for byte as docs/tape-format.md defines them, and the limits a reader may rely
// on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace heaptape::format {

inline constexpr char kMagic[8] = {'H', 'E', 'A', 'P', 'T', 'A', 'P', 'E'};
// Major: readers of a smaller one cannot read it. Minor: readers of a smaller one miss something, but read the rest.
inline constexpr std::uint16_t kMajor = 1;
inline constexpr std::uint16_t kMinor = 6;

//   offset  size
//        0     8  magic, "HEAPTAPE"
//        8     2  major version
//       10     2  minor version
//       12     4  header_bytes: size of this header, 64; a later minor version may make it larger
//       16     8  wall clock at time 0 of the tape, nanoseconds since 1970
//       24     4  process id of the program
//       28    28  reserved, 0
//       56     8  XXH3-64 of the bytes before it (always the last 8 of header_bytes)
struct FileHeader {
  char magic[8];
  std::uint16_t major;
  std::uint16_t minor;
  std::uint32_t header_bytes;
  std::uint64_t start_realtime_ns;
  std::uint32_t pid;
  std::uint8_t reserved[28];
  std::uint64_t checksum;
};
static_assert(sizeof(FileHeader) == 64 && offsetof(FileHeader, checksum) == 56);
inline constexpr std::uint32_t kMaxFileHeaderBytes = 4096;

enum class ChunkType : std::uint8_t {
  Meta = 1,
  Modules = 2,
  Stacks = 3,
  Threads = 4,
  Events = 5,
  Marks = 6,
  Samples = 7,
  Snapshot = 8, // of memory; its pages are in PAGES
  Symbols = 9,
  Index = 10, // what an index consists of; the last whole one counts
  Summary = 11,
  IndexPart = 12, // reached through an INDEX
  Maps = 13,
  Cpu = 14,
  Pools = 15,
  OddCalls = 16,
  Inherited = 17,
  RunTimeCode = 18,
  Resident = 19,
  Pages = 20,
  MemoryErrors = 21,
  Crash = 22,
};
inline constexpr std::uint8_t kChunkTypes = 23;

// "EVENTS", ...; "type 77" for a number without a name.
std::string chunk_type_name(std::uint8_t type);

enum class Codec : std::uint8_t { Raw = 0, Zstd = 1 };

// First eight bytes of every chunk; not text, and not valid UTF-8, so it does not occur by chance in what tapes hold.
inline constexpr std::uint64_t kSync = 0x0a'9e'6b'd3'b7'c4'e1'f1;

//   offset  size
//        0     8  sync marker, bytes f1 e1 c4 b7 d3 6b 9e 0a
//        8     1  type
//        9     1  codec of the payload: 0 raw, 1 one zstd frame
//       10     2  flags, 0; a reader skips a chunk with flags it does not know
//       12     4  stored_bytes: size of the payload in the file
//       16     8  XXH3-64 of the payload as stored
//       24     4  raw_bytes: size of the payload decompressed
//       28     4  low half of the XXH3-64 of bytes 0..27
struct ChunkHeader {
  std::uint64_t sync;
  std::uint8_t type;
  std::uint8_t codec;
  std::uint16_t flags;
  std::uint32_t stored_bytes;
  std::uint64_t payload_checksum;
  std::uint32_t raw_bytes;
  std::uint32_t header_checksum;
};
static_assert(sizeof(ChunkHeader) == 32 && offsetof(ChunkHeader, header_checksum) == 28);

// No payload is larger than this, stored or raw.
inline constexpr std::uint32_t kMaxPayloadBytes = std::uint32_t{16} << 20;
// A compressed payload is at most this many times smaller than its raw form; what would be, is stored raw. So the
// memory a reader needs is bounded by the size of the file.
inline constexpr std::uint64_t kMaxRatio = 32;
// Node ids on a tape are below this.
inline constexpr std::uint32_t kMaxStackNodes = std::uint32_t{1} << 24;

std::uint64_t checksum(std::span<const std::byte> bytes);
// What belongs into `checksum` of a FileHeader and into `header_checksum` of a ChunkHeader.
std::uint64_t file_header_checksum(const FileHeader& header);
std::uint32_t chunk_header_checksum(const ChunkHeader& header);

} // namespace heaptape::format
