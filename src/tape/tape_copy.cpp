#include "tape/tape_copy.h"

#include <utility>
#include <vector>

#include "tape/chunk_scanner.h"
#include "tape/tape_loader.h"

namespace heaptape {

namespace {

using format::ChunkType;

enum class Part : std::uint8_t { Kept, Index, Contents, Unknown };

// Every kind is named, so that a new one is thought about.
Part part_of(const format::ChunkHeader& header) {
  if (header.flags != 0) return Part::Unknown;
  switch (static_cast<ChunkType>(header.type)) {
  case ChunkType::Meta:
  case ChunkType::Modules:
  case ChunkType::Stacks:
  case ChunkType::Threads:
  case ChunkType::Events:
  case ChunkType::Marks:
  case ChunkType::Samples:
  case ChunkType::Symbols:
  case ChunkType::Summary:
  case ChunkType::Maps:
  case ChunkType::Cpu:
  case ChunkType::Pools:
  case ChunkType::OddCalls:
  case ChunkType::MemoryErrors:
  case ChunkType::Crash:
  case ChunkType::Inherited:
  case ChunkType::RunTimeCode:
  case ChunkType::Resident: return Part::Kept;
  case ChunkType::Index:
  case ChunkType::IndexPart: return Part::Index;
  case ChunkType::Snapshot:
  case ChunkType::Pages: return Part::Contents;
  }
  return Part::Unknown;
}

} // namespace

Result<TapeCopy> copy_tape(const TapeSource& source, const std::string& name, bool with_contents,
                           const std::function<Result<>(std::span<const std::byte>)>& write) {
  const Result<TapeHead> head = read_tape_head(source, name, Checksums::Verify);
  if (!head) return head.error();
  std::vector<std::byte> buffer;
  const std::uint64_t first = head.value().first_chunk;
  if (auto done = write(source.read(0, first, buffer)); !done) return done.error();

  TapeCopy copy;
  ChunkScanner scanner(source, first, Checksums::Verify);
  while (const std::optional<FoundChunk> chunk = scanner.next()) {
    const Part part = part_of(chunk->header);
    if (part == Part::Contents && !with_contents) {
      copy.contents_bytes += chunk->end() - chunk->offset;
      continue;
    }
    if (part == Part::Unknown && !with_contents) ++copy.unknown_chunks;
    if (part == Part::Index || (part == Part::Unknown && !with_contents)) continue;
    if (auto done = write(std::as_bytes(std::span(&chunk->header, 1))); !done) return done.error();
    if (auto done = write(scanner.payload(*chunk)); !done) return done.error();
  }
  copy.damaged_regions = scanner.damage().size();
  return copy;
}

} // namespace heaptape
