#include "analysis/index/keyframe.h"

#include <algorithm>
#include <array>
#include <limits>

#include "tape/format.h"

namespace heaptape {

namespace {

constexpr std::uint8_t kSection = 6;
constexpr std::size_t kBlocksPerPart = std::size_t{1} << 18; // at most 46 bytes each

// Blocks stand in the order of their events, so that these and their times take little room. Each column stands for itself:
//   Events, Times   distance to the block before
//   Owners          number in the list of owners
//   Sizes           zigzag distance, modulo 2^64, to the owner's block before in this part
//   Addresses       distance to the block before: twice the zigzag of distance / 16, or 1 and the zigzag distance
enum Column : std::uint8_t { Events, Times, Owners, Sizes, Addresses, kColumns };

struct Place {
  std::uint64_t event;
  std::uint64_t address;
};

// Numbers for the owners that are in use, in their order.
struct OwnerList {
  std::vector<std::uint32_t> number; // by number in the state
  std::vector<Owner> owners;

  explicit OwnerList(const HeapState& state) : number(state.owners().size()) {
    state.blocks().for_each([&](const Block& block) { number[block.owner] = 1; });
    std::vector<std::uint32_t> used;
    for (std::uint32_t i = 0; i < number.size(); ++i)
      if (number[i] != 0) used.push_back(i);
    std::sort(used.begin(), used.end(),
              [&](std::uint32_t a, std::uint32_t b) { return state.owners()[a] < state.owners()[b]; });
    for (const std::uint32_t owner : used) {
      number[owner] = static_cast<std::uint32_t>(owners.size());
      owners.push_back(state.owners()[owner]);
    }
  }
};

void put_owners(ByteWriter& bytes, const std::vector<Owner>& owners) {
  bytes.varint(owners.size());
  StackId last;
  for (const Owner& owner : owners) {
    bytes.varint(owner.stack.value - last.value);
    bytes.varint(owner.thread.value);
    last = owner.stack;
  }
}

void put_mappings(ByteWriter& bytes, const MappingSet& mappings) {
  bytes.varint(mappings.pieces().size());
  std::uint64_t last = 0;
  for (const auto& [begin, piece] : mappings.pieces()) {
    bytes.varint(piece.begin - last);
    bytes.varint(piece.bytes());
    bytes.varint(piece.event);
    bytes.varint(piece.time_us);
    bytes.varint(piece.stack.value);
    bytes.varint(piece.thread.value);
    bytes.u8(static_cast<std::uint8_t>((piece.anonymous ? 1 : 0) | (piece.reserved ? 2 : 0)));
    last = piece.end;
  }
}

bool parse_id(ByteReader& bytes, std::uint32_t& id) {
  const std::uint64_t number = bytes.varint();
  id = static_cast<std::uint32_t>(number);
  return number <= std::numeric_limits<std::uint32_t>::max();
}

bool parse_mapping(ByteReader& bytes, MappingPiece& piece, std::uint64_t& last) {
  piece.begin = last + bytes.varint();
  piece.end = piece.begin + bytes.varint();
  piece.event = bytes.varint();
  piece.time_us = bytes.varint();
  if (!parse_id(bytes, piece.stack.value) || !parse_id(bytes, piece.thread.value)) return false;
  const std::uint8_t sort = bytes.u8();
  piece.anonymous = (sort & 1) != 0;
  piece.reserved = (sort & 2) != 0;
  const bool in_order = piece.begin >= last && piece.end > piece.begin;
  last = piece.end;
  return bytes.ok() && in_order;
}

// Written one after the other; each needs to know the blocks before.
class BlockColumns {
public:
  explicit BlockColumns(const OwnerList& owners) : owners_(owners), last_sizes_(owners.owners.size()) {}

  void add(const Block& block) {
    const std::uint32_t owner = owners_.number[block.owner];
    put(Events, block.event - last_.event);
    put(Times, block.time_us - last_.time_us);
    put(Owners, owner);
    put(Sizes, zigzag(static_cast<std::int64_t>(block.size - last_sizes_[owner])));
    const auto distance = static_cast<std::int64_t>(block.address - last_.address);
    put(Addresses, (distance & 15) == 0 ? zigzag(distance / 16) << 1 : 1);
    if ((distance & 15) != 0) put(Addresses, zigzag(distance));
    last_sizes_[owner] = block.size;
    last_ = block;
  }

  void finish(std::size_t count, ByteWriter& bytes) {
    bytes.varint(count);
    for (const auto& column : columns_) bytes.varint(column.size());
    for (const auto& column : columns_) bytes.bytes(column);
  }

private:
  void put(Column column, std::uint64_t number) { ByteWriter(columns_[column]).varint(number); }

  const OwnerList& owners_;
  std::vector<std::uint64_t> last_sizes_; // by owner
  Block last_;
  std::array<std::vector<std::byte>, kColumns> columns_;
};

bool stacks_are_known(const HeapState& state, const TapeReader& tape) {
  const auto known = [&](StackId stack) { return stack.value < tape.stacks().size(); };
  const auto& owners = state.owners().owners();
  const auto& pieces = state.mappings().pieces();
  return std::all_of(owners.begin(), owners.end(), [&](const Owner& owner) { return known(owner.stack); }) &&
         std::all_of(pieces.begin(), pieces.end(), [&](const auto& entry) { return known(entry.second.stack); });
}

} // namespace

Result<> KeyframeCodec::put(const HeapState& state, const AddPart& add) {
  std::vector<Place> places;
  places.reserve(static_cast<std::size_t>(state.blocks().size()));
  state.blocks().for_each([&](const Block& block) { places.push_back({block.event, block.address}); });
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.event < b.event; });
  const OwnerList owners(state);

  std::vector<std::byte> payload;
  ByteWriter bytes(payload);
  bytes.u8(kSection);
  bytes.varint(state.event_);
  bytes.varint(state.time_us_);
  bytes.varint(state.unknown_unmaps_);
  put_totals(state.totals(), payload);
  put_owners(bytes, owners.owners);
  put_mappings(bytes, state.mappings_);
  if (payload.size() > format::kMaxPayloadBytes / 4) {
    // Very many owners or mappings: the blocks begin in the next part.
    bytes.varint(0);
    for (int column = 0; column < kColumns; ++column) bytes.varint(0);
    if (auto added = add(payload); !added) return added;
    payload.clear();
    bytes.u8(kSection);
  }
  std::span<const Place> rest(places);
  do {
    const auto part = rest.first(std::min(rest.size(), kBlocksPerPart));
    BlockColumns columns(owners);
    constexpr std::size_t kAhead = 16;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (i + kAhead < part.size()) state.blocks().prefetch(part[i + kAhead].address);
      columns.add(*state.blocks().find(part[i].address));
    }
    columns.finish(part.size(), bytes);
    if (auto added = add(payload); !added) return added;
    payload.clear();
    bytes.u8(kSection);
    rest = rest.subspan(part.size());
  } while (!rest.empty());
  return Unit{};
}

bool KeyframeCodec::parse_first(std::span<const std::byte> payload, HeapState& state, std::uint64_t most_blocks) {
  ByteReader bytes(payload);
  state = HeapState();
  if (bytes.u8() != kSection) return false;
  state.event_ = bytes.varint();
  state.time_us_ = bytes.varint();
  state.unknown_unmaps_ = bytes.varint();
  if (!parse_totals(bytes, state.ledger_.totals())) return false;

  const std::uint64_t owners = bytes.varint();
  if (owners > bytes.remaining()) return false;
  Owner owner;
  for (std::uint64_t i = 0; i < owners; ++i) {
    std::uint32_t distance = 0;
    if (!parse_id(bytes, distance) || !parse_id(bytes, owner.thread.value)) return false;
    owner.stack = StackId(owner.stack.value + distance);
    if (!bytes.ok() || state.ledger_.store().owners.number_of(owner) != i) return false;
  }
  const std::uint64_t mappings = bytes.varint();
  if (mappings > bytes.remaining()) return false;
  std::uint64_t last = 0;
  for (std::uint64_t left = mappings; left != 0; --left) {
    MappingPiece piece;
    if (!parse_mapping(bytes, piece, last)) return false;
    state.mappings_.restore(piece);
  }
  return parse_blocks(bytes, state, most_blocks);
}

bool KeyframeCodec::parse_next(std::span<const std::byte> payload, HeapState& state) {
  ByteReader bytes(payload);
  return bytes.u8() == kSection && parse_blocks(bytes, state, 0);
}

bool KeyframeCodec::parse_blocks(ByteReader& bytes, HeapState& state, std::uint64_t most_blocks) {
  const std::uint64_t count = bytes.varint();
  std::array<std::uint64_t, kColumns> sizes{};
  for (std::uint64_t& size : sizes) size = bytes.varint();
  std::array<ByteReader, kColumns> in{ByteReader(bytes.bytes(sizes[0])), ByteReader(bytes.bytes(sizes[1])),
                                      ByteReader(bytes.bytes(sizes[2])), ByteReader(bytes.bytes(sizes[3])),
                                      ByteReader(bytes.bytes(sizes[4]))};
  if (!bytes.done() || count > in[Events].remaining()) return false;
  BlockMap& blocks = state.ledger_.store().blocks;
  blocks.reserve(std::min(state.totals().live_blocks, std::max(most_blocks, blocks.size() + count)));
  std::vector<std::uint64_t> last_sizes(state.owners().size());
  Block block;
  // A few blocks wait until their places in the map have been loaded.
  std::array<Block, 32> waiting;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i >= waiting.size() && !blocks.insert(waiting[i % waiting.size()])) return false;
    block.event += in[Events].varint();
    block.time_us += in[Times].varint();
    const std::uint64_t owner = in[Owners].varint();
    if (owner >= last_sizes.size()) return false;
    block.owner = static_cast<std::uint32_t>(owner);
    block.size = last_sizes[block.owner] += static_cast<std::uint64_t>(in[Sizes].signed_varint());
    const std::uint64_t code = in[Addresses].varint();
    block.address += (code & 1) == 0 ? static_cast<std::uint64_t>(unzigzag(code >> 1)) * 16
                                     : static_cast<std::uint64_t>(in[Addresses].signed_varint());
    if (block.address == 0 || block.event > state.event_ || block.time_us > state.time_us_) return false;
    blocks.prefetch(block.address);
    waiting[i % waiting.size()] = block;
  }
  for (std::uint64_t i = count - std::min<std::uint64_t>(count, waiting.size()); i < count; ++i)
    if (!blocks.insert(waiting[i % waiting.size()])) return false;
  return std::all_of(in.begin(), in.end(), [](const ByteReader& column) { return column.done(); });
}

bool load_keyframe(const TapeReader& tape, const Keyframe& keyframe, HeapState& state) {
  // Room for all blocks at once. Their number in the totals may be wrong; a part holds only a limited number, and a block takes five bytes
  // that are packed to no less than a part of kMaxRatio.
  const std::uint64_t most_blocks =
      std::min<std::uint64_t>(keyframe.parts.size() * kBlocksPerPart, tape.file_bytes() * format::kMaxRatio / kColumns);
  bool first = true;
  const auto add = [&](std::span<const std::byte> payload) {
    const bool good =
        first ? KeyframeCodec::parse_first(payload, state, most_blocks) : KeyframeCodec::parse_next(payload, state);
    first = false;
    return good;
  };
  for (const auto& part : keyframe.in_memory)
    if (!add(part)) return false;
  for (const std::uint64_t offset : keyframe.parts) {
    const auto part = tape.read_index_part(offset);
    if (!part || !add(*part)) return false;
  }
  return !first && state.event() == keyframe.event && KeyframeCodec::complete(state) && stacks_are_known(state, tape);
}

bool KeyframeCodec::complete(const HeapState& state) {
  std::uint64_t bytes = 0;
  state.blocks().for_each([&](const Block& block) { bytes += block.size; });
  return state.blocks().size() == state.totals().live_blocks && bytes == state.totals().live_bytes;
}

} // namespace heaptape
