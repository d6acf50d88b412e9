#include "tape/format.h"

#include <xxhash.h>

namespace heaptape::format {

std::string block_type_name(std::uint8_t type) {
  switch (static_cast<BlockType>(type)) {
  case BlockType::Meta: return "META";
  case BlockType::Modules: return "MODULES";
  case BlockType::Stacks: return "STACKS";
  case BlockType::Threads: return "THREADS";
  case BlockType::Events: return "EVENTS";
  case BlockType::Marks: return "MARKS";
  case BlockType::Samples: return "SAMPLES";
  case BlockType::Snapshot: return "SNAPSHOT";
  case BlockType::Symbols: return "SYMBOLS";
  case BlockType::Index: return "INDEX";
  case BlockType::Summary: return "SUMMARY";
  case BlockType::IndexPart: return "INDEX PART";
  case BlockType::Maps: return "MAPS";
  case BlockType::Cpu: return "CPU";
  case BlockType::Pools: return "POOLS";
  }
  return "type " + std::to_string(type);
}

std::uint64_t checksum(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::uint64_t file_header_checksum(const FileHeader& header) {
  return checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(FileHeader, checksum)));
}

std::uint32_t block_header_checksum(const BlockHeader& header) {
  return static_cast<std::uint32_t>(
      checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(BlockHeader, header_checksum))));
}

} // namespace heaptape::format
