#include "tape/format.h"

#include <xxhash.h>

namespace heaptape::format {

std::string chunk_type_name(std::uint8_t type) {
  switch (static_cast<ChunkType>(type)) {
  case ChunkType::Meta: return "META";
  case ChunkType::Modules: return "MODULES";
  case ChunkType::Stacks: return "STACKS";
  case ChunkType::Threads: return "THREADS";
  case ChunkType::Events: return "EVENTS";
  case ChunkType::Marks: return "MARKS";
  case ChunkType::Samples: return "SAMPLES";
  case ChunkType::Snapshot: return "SNAPSHOT";
  case ChunkType::Symbols: return "SYMBOLS";
  case ChunkType::RunTimeCode: return "RUNTIME CODE";
  case ChunkType::Index: return "INDEX";
  case ChunkType::Summary: return "SUMMARY";
  case ChunkType::IndexPart: return "INDEX PART";
  case ChunkType::Maps: return "MAPS";
  case ChunkType::Cpu: return "CPU";
  case ChunkType::Pools: return "POOLS";
  case ChunkType::OddCalls: return "ODD CALLS";
  case ChunkType::Inherited: return "INHERITED";
  case ChunkType::Resident: return "RESIDENT";
  case ChunkType::Pages: return "PAGES";
  case ChunkType::MemoryErrors: return "MEMORY ERRORS";
  case ChunkType::Crash: return "CRASH";
  }
  return "type " + std::to_string(type);
}

std::uint64_t checksum(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::uint64_t file_header_checksum(const FileHeader& header) {
  return checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(FileHeader, checksum)));
}

std::uint32_t chunk_header_checksum(const ChunkHeader& header) {
  return static_cast<std::uint32_t>(
      checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(ChunkHeader, header_checksum))));
}

} // namespace heaptape::format
