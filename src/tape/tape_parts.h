// What the reader of a tape says about the file itself.
#pragma once

#include <cstdint>
#include <string>

namespace heaptape {

struct TapeHeader {
  std::uint32_t version_major = 0;
  std::uint32_t version_minor = 0;
  std::uint64_t start_realtime_ns = 0;
  std::uint32_t pid = 0;
  bool damaged = false; // then nothing of it is known, but the pid may come from elsewhere
};

// A stretch of the file that could not be read.
struct Damage {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::string reason; // "checksum differs", "cut off", ...
};

struct ChunkTypeSize {
  std::string name; // "EVENTS", ...
  std::uint64_t chunks = 0;
  std::uint64_t bytes = 0; // on disk, chunk headers included
};

struct EventChunkInfo {
  std::uint64_t offset = 0; // of the chunk in the file
  std::uint64_t bytes = 0;  // on disk, chunk header included
  std::uint64_t first_number = 0;
  std::uint64_t count = 0;
  std::uint64_t first_us = 0;
  std::uint64_t last_us = 0;

  std::uint64_t last_number() const { return first_number + count - 1; }
};

// Ignore is for the fuzzer alone, which would not get past a checksum.
enum class Checksums : std::uint8_t { Verify, Ignore };

} // namespace heaptape
