// The live blocks of a moment by address, numbered from 0, and which of them holds an address: one cache miss per look-up.
//
// Address space is divided into zones of 2 MiB. A zone in which many blocks begin has a bit for each 8 bytes, set where one begins;
// how many begin before it, and how many bits are set before the address, is the number of the block. In a zone with few blocks
// their addresses are searched.
//
//   directory (1 GiB each)  ->  512 zones { blocks before, lines | few + count }  ->  lines { blocks before, 448 bits }
//
// 8 bytes and not 16: jemalloc has blocks of 8. Memory: 16 bytes per block, and 1.3 more in a heap of small blocks. Never more than 32
// more, plus 4 KiB for each GiB of address space that has blocks, whatever the tape says.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/memory/table_vector.h"
#include "base/result.h"

namespace heaptape {

struct HeapBlock {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint32_t group = 0; // blocks that were made alike: number of the stack, say
};

// Const calls may come from any thread.
class BlockRanks {
public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{};
  static constexpr unsigned kAddressBits = 47;

  // In any order. Left out are blocks beyond 2^47 or that end there, and all but the first in the same 8 bytes. A block into which another
  // one reaches takes the rest: the other ends there for every question but bytes(). Fails for 2^32 - 1 blocks or more.
  static Result<BlockRanks> of(std::vector<HeapBlock> blocks);

  std::uint32_t size() const { return static_cast<std::uint32_t>(begin_.size()); }
  std::uint64_t begin(std::uint32_t block) const { return begin_[block]; }
  // Where it ends: behind its last byte, or where the next one begins. A block of 0 bytes ends where it begins.
  std::uint64_t end(std::uint32_t block) const { return begin_[block] + extent(block); }
  std::uint64_t bytes(std::uint32_t block) const; // as allocated
  std::uint32_t group(std::uint32_t block) const { return group_[block]; }
  std::uint64_t left_out() const { return left_out_; }

  // The block that holds this address; one of 0 bytes holds its own. kNone: none.
  std::uint32_t find(std::uint64_t address) const { return maybe(address) ? holder(address, rank(address)) : kNone; }
  // The first block that begins at or behind this address; size() when there is none.
  std::uint32_t first_from(std::uint64_t address) const;

  // find() in steps, for many addresses at a time: what maybe() lets through goes to prefetch(), rank(), prefetch_rank() and holder().
  bool maybe(std::uint64_t address) const { return address - lowest_ < reach_ && zone(address).what != 0; }
  void prefetch(std::uint64_t address) const {
    const Zone& in = zone(address);
    if ((in.what & kFew) == 0) __builtin_prefetch(&lines_[in.what + offset(address) / kLineBytes]);
  }
  // How many blocks begin at or before it.
  std::uint32_t rank(std::uint64_t address) const {
    const Zone& in = zone(address);
    if ((in.what & kFew) != 0) return rank_among_few(in, address);
    const Line& line = lines_[in.what + offset(address) / kLineBytes];
    const std::uint64_t bit = offset(address) % kLineBytes / kGrain;
    std::uint64_t before = line.before;
    for (std::uint64_t i = 0; i < bit / 64; ++i) before += static_cast<std::uint64_t>(std::popcount(line.bits[i]));
    return static_cast<std::uint32_t>(before) +
           static_cast<std::uint32_t>(std::popcount(line.bits[bit / 64] & (~std::uint64_t{} >> (63 - bit % 64))));
  }
  void prefetch_rank(std::uint32_t rank) const {
    if (rank == 0) return;
    __builtin_prefetch(&begin_[rank - 1]);
    __builtin_prefetch(&extent_[rank - 1]);
  }
  std::uint32_t holder(std::uint64_t address, std::uint32_t rank) const {
    if (rank == 0) return kNone;
    const std::uint64_t inside = address - begin_[rank - 1];
    if (inside < extent_[rank - 1] || inside == 0) return rank - 1;
    // A large one; or the address lies before it, in the same 8 bytes.
    return extent_[rank - 1] == kLarge || address < begin_[rank - 1] ? odd_holder(address, rank) : kNone;
  }

  std::size_t memory_bytes() const;

private:
  static constexpr unsigned kZoneBits = 21, kDirectoryBits = 30;
  static constexpr std::uint64_t kZoneBytes = std::uint64_t{1} << kZoneBits;
  static constexpr std::uint64_t kGrain = 8, kLineBytes = 448 * kGrain;
  static constexpr std::uint64_t kLinesPerZone = (kZoneBytes + kLineBytes - 1) / kLineBytes;
  static constexpr std::uint32_t kFew = std::uint32_t{1} << 31;
  static constexpr std::uint32_t kMany = 1200; // blocks in a zone that are worth its 37 KiB of lines
  static constexpr std::uint32_t kLarge = ~std::uint32_t{};
  static constexpr std::uint32_t kEverywhere = 1; // the table of zones inside one block

  struct alignas(64) Line {
    std::uint64_t before;
    std::uint64_t bits[7];
  };
  struct Zone {
    std::uint32_t before; // blocks that begin before it; kNone: not counted, and none begins in it
    std::uint32_t what;   // 0: no block begins here or reaches here; kFew + how many begin here; else the first line
  };
  using Zones = std::array<Zone, std::size_t{1} << (kDirectoryBits - kZoneBits)>;
  using Odd = std::vector<std::pair<std::uint32_t, std::uint64_t>>; // by block

  static std::uint64_t offset(std::uint64_t address) { return address & (kZoneBytes - 1); }
  const Zone& zone(std::uint64_t address) const {
    return tables_[directory_[address >> kDirectoryBits]][(address >> kZoneBits) % std::tuple_size_v<Zones>];
  }
  std::uint64_t extent(std::uint32_t block) const {
    return extent_[block] == kLarge ? look_up(large_, block) : extent_[block];
  }
  static std::uint64_t look_up(const Odd& odd, std::uint32_t block);
  std::uint32_t rank_among_few(const Zone& in, std::uint64_t address) const;
  std::uint32_t odd_holder(std::uint64_t address, std::uint32_t rank) const;

  void add(const HeapBlock& block, std::uint64_t next);
  void make_zones();
  Zone& zone_for_change(std::uint64_t address);
  void reach_into(std::uint64_t begin, std::uint64_t end, std::uint32_t before);

  TableVector<std::uint64_t> begin_;
  TableVector<std::uint32_t> extent_; // kLarge: see large_
  TableVector<std::uint32_t> group_;
  Odd large_, cut_;                      // extents of 4 GiB and more; sizes of blocks that others lie in
  std::uint64_t lowest_ = 0, reach_ = 0; // of all blocks
  std::vector<std::uint32_t> directory_;
  std::vector<Zones> tables_; // 0: empty; kEverywhere
  TableVector<Line> lines_;   // the first is nobody's
  std::uint64_t left_out_ = 0;
};

} // namespace heaptape
