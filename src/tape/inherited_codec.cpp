#include "tape/inherited_codec.h"

#include <algorithm>
#include <utility>

#include "base/byte_cursor.h"

namespace heaptape {

namespace {

// The first varint of a payload.
enum class Part : std::uint8_t { Forks = 1, Figures = 2, Blocks = 3, Releases = 4 };

constexpr std::size_t kBlocksPerChunk = std::size_t{1} << 16;
constexpr std::size_t kReleasesPerChunk = std::size_t{1} << 20;
constexpr std::size_t kLeastBlockBytes = 5; // a byte for each of its numbers

void begin(Part part, ByteWriter& writer) { writer.varint(static_cast<std::uint64_t>(part)); }

std::uint64_t end_of(const InheritedBlock& block) { return block.address + std::max<std::uint64_t>(block.size, 1); }

} // namespace

void put_forks(std::span<const ForkMade> forks, std::vector<std::byte>& out) {
  ByteWriter writer(out);
  begin(Part::Forks, writer);
  writer.varint(forks.size());
  for (const ForkMade& fork : forks) {
    for (const std::uint64_t number : {fork.started_ns, fork.event, fork.time_us}) writer.varint(number);
  }
}

std::vector<std::vector<std::byte>> encode_inheritance(const Inheritance& figures,
                                                       std::span<const InheritedBlock> blocks,
                                                       std::span<const std::uint64_t> releases) {
  std::vector<std::vector<std::byte>> payloads;
  for (; !blocks.empty(); blocks = blocks.subspan(std::min(blocks.size(), kBlocksPerChunk))) {
    const auto part = blocks.first(std::min(blocks.size(), kBlocksPerChunk));
    ByteWriter writer(payloads.emplace_back());
    begin(Part::Blocks, writer);
    std::uint64_t end = 0;
    for (const InheritedBlock& block : part) end = std::max(end, end_of(block));
    writer.varint(part.front().address);
    writer.varint(end - part.front().address);
    writer.varint(part.size());
    std::uint64_t address = part.front().address;
    for (const InheritedBlock& block : part) {
      for (const std::uint64_t number : {block.address - address, block.size, std::uint64_t{block.stack.value},
                                         static_cast<std::uint64_t>(block.kind), block.age_us})
        writer.varint(number);
      address = block.address;
    }
  }
  for (; !releases.empty(); releases = releases.subspan(std::min(releases.size(), kReleasesPerChunk))) {
    const auto part = releases.first(std::min(releases.size(), kReleasesPerChunk));
    ByteWriter writer(payloads.emplace_back());
    begin(Part::Releases, writer);
    writer.varint(part.size());
    std::uint64_t before = 0;
    for (const std::uint64_t event : part) writer.varint(event - std::exchange(before, event));
  }
  ByteWriter writer(payloads.emplace_back());
  begin(Part::Figures, writer);
  for (const std::uint64_t number : {std::uint64_t{figures.parent_pid}, figures.parent_event, figures.blocks,
                                     figures.bytes, figures.released_blocks, figures.released_bytes})
    writer.varint(number);
  writer.text(figures.parent_tape);
  writer.varint(figures.left_out);
  return payloads;
}

bool parse_inherited(std::span<const std::byte> payload, InheritedParts parts, std::optional<InheritedExtent>& extent) {
  ByteReader reader(payload);
  switch (static_cast<Part>(reader.varint())) {
  case Part::Forks:
    for (std::uint64_t left = reader.varint(); left != 0 && reader.ok(); --left) {
      ForkMade fork{.started_ns = reader.varint(), .event = reader.varint(), .time_us = reader.varint()};
      if (reader.ok()) parts.forks.push_back(fork);
    }
    return reader.ok();
  case Part::Releases: {
    std::uint64_t event = 0;
    for (std::uint64_t left = reader.varint(); left != 0 && reader.ok(); --left) {
      event += reader.varint();
      if (reader.ok()) parts.releases.push_back(event);
    }
    return reader.ok();
  }
  case Part::Figures: {
    Inheritance figures;
    figures.parent_pid = static_cast<std::uint32_t>(reader.varint());
    for (std::uint64_t* number :
         {&figures.parent_event, &figures.blocks, &figures.bytes, &figures.released_blocks, &figures.released_bytes})
      *number = reader.varint();
    figures.parent_tape = reader.text();
    if (reader.remaining() != 0) figures.left_out = reader.varint();
    if (reader.ok()) parts.figures = std::move(figures);
    return reader.ok();
  }
  case Part::Blocks: {
    const std::uint64_t begins = reader.varint(), bytes = reader.varint();
    if (!reader.ok() || begins + bytes < begins) return false;
    extent = InheritedExtent{begins, begins + bytes};
    return true;
  }
  }
  return reader.ok(); // of a later version
}

bool parse_inherited_blocks(std::span<const std::byte> payload, std::vector<InheritedBlock>& blocks) {
  ByteReader reader(payload);
  if (static_cast<Part>(reader.varint()) != Part::Blocks) return false;
  std::uint64_t address = reader.varint();
  (void)reader.varint();
  std::uint64_t left = reader.varint();
  if (left > reader.remaining() / kLeastBlockBytes) return false;
  for (; left != 0; --left) {
    InheritedBlock block;
    address += reader.varint();
    block.address = address;
    block.size = reader.varint();
    const std::uint64_t stack = reader.varint(), kind = reader.varint();
    block.age_us = reader.varint();
    if (!reader.ok() || stack > ~std::uint32_t{0} || kind >= static_cast<std::uint64_t>(EventKind::TapeKinds) ||
        block.address + block.size < block.address)
      return false;
    block.stack = StackId(static_cast<std::uint32_t>(stack));
    block.kind = static_cast<EventKind>(kind);
    blocks.push_back(block);
  }
  return true;
}

} // namespace heaptape
