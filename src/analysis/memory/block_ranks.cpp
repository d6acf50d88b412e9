#include "analysis/memory/block_ranks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>

namespace heaptape {

namespace {

constexpr std::uint64_t kAddressEnd = std::uint64_t{1} << BlockRanks::kAddressBits;

bool is_possible(const HeapBlock& block) {
  return block.address < kAddressEnd && block.size <= kAddressEnd - block.address;
}

// By address, digit by digit from the lowest; only those that differ at all. Three times as quick as comparing.
void sort_by_address(std::vector<HeapBlock>& blocks) {
  constexpr unsigned kDigit = 11;
  constexpr std::uint64_t kMask = (std::uint64_t{1} << kDigit) - 1;
  std::uint64_t differing = 0;
  for (const HeapBlock& block : blocks) differing |= block.address ^ blocks.front().address;
  TableVector<HeapBlock> room(blocks.size());
  std::span<HeapBlock> from(blocks), to(room);
  for (unsigned shift = static_cast<unsigned>(std::countr_zero(differing)); shift < 64; shift += kDigit) {
    if ((differing >> shift & kMask) == 0) continue;
    std::array<std::size_t, kMask + 1> places{};
    for (const HeapBlock& block : from) ++places[block.address >> shift & kMask];
    std::size_t sum = 0;
    for (std::size_t& place : places) sum += std::exchange(place, sum);
    for (const HeapBlock& block : from) to[places[block.address >> shift & kMask]++] = block;
    std::swap(from, to);
  }
  if (from.data() != blocks.data()) std::copy(from.begin(), from.end(), blocks.begin());
}

} // namespace

Result<BlockRanks> BlockRanks::of(std::vector<HeapBlock> blocks) {
  if (blocks.size() >= kNone)
    return Error{ErrorCode::Unsupported,
                 "there are more than 4,294,967,294 live blocks, too many to follow the references between them"};
  const auto by_address = [](const HeapBlock& a, const HeapBlock& b) { return a.address < b.address; };
  if (!std::is_sorted(blocks.begin(), blocks.end(), by_address)) sort_by_address(blocks);
  BlockRanks ranks;
  const std::size_t all = blocks.size();
  std::uint64_t last = ~std::uint64_t{};
  std::erase_if(blocks, [&](const HeapBlock& block) {
    const bool leave_out = !is_possible(block) || block.address / kGrain == last;
    if (!leave_out) last = block.address / kGrain;
    return leave_out;
  });
  ranks.left_out_ = all - blocks.size();
  ranks.begin_.reserve(blocks.size());
  ranks.extent_.reserve(blocks.size());
  ranks.group_.reserve(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i)
    ranks.add(blocks[i], i + 1 < blocks.size() ? blocks[i + 1].address : kAddressEnd);
  blocks = {};
  ranks.make_zones();
  return ranks;
}

void BlockRanks::add(const HeapBlock& block, std::uint64_t next) {
  const std::uint32_t number = size();
  const std::uint64_t extent = std::min(block.size, next - block.address);
  if (extent != block.size) cut_.emplace_back(number, block.size);
  if (extent >= kLarge) large_.emplace_back(number, extent);
  begin_.push_back(block.address);
  extent_.push_back(extent >= kLarge ? kLarge : static_cast<std::uint32_t>(extent));
  group_.push_back(block.group);
}

BlockRanks::Zone& BlockRanks::zone_for_change(std::uint64_t address) {
  std::uint32_t& table = directory_[address >> kDirectoryBits];
  if (table <= kEverywhere) {
    tables_.push_back(tables_[table]);
    table = static_cast<std::uint32_t>(tables_.size() - 1);
  }
  return tables_[table][(address >> kZoneBits) % std::tuple_size_v<Zones>];
}

// A block that begins in an earlier zone: whole GiB take no memory, however large it is.
void BlockRanks::reach_into(std::uint64_t begin, std::uint64_t end, std::uint32_t before) {
  for (std::uint64_t at = begin & ~(kZoneBytes - 1); at < end;) {
    const std::uint64_t directory_end = (at | ((std::uint64_t{1} << kDirectoryBits) - 1)) + 1;
    if (at % (std::uint64_t{1} << kDirectoryBits) == 0 && directory_end <= end) {
      directory_[at >> kDirectoryBits] = kEverywhere;
      at = directory_end;
      continue;
    }
    zone_for_change(at) = {before, kFew};
    at += kZoneBytes;
  }
}

void BlockRanks::make_zones() {
  directory_.assign(std::size_t{1} << (kAddressBits - kDirectoryBits), 0);
  tables_.resize(2);
  tables_[kEverywhere].fill({kNone, kFew});
  lines_.resize(1);
  for (std::uint32_t i = 0; i < size();) {
    const std::uint64_t zone = begin_[i] >> kZoneBits;
    std::uint32_t behind = i + 1;
    while (behind < size() && begin_[behind] >> kZoneBits == zone) ++behind;
    Zone& in = zone_for_change(begin_[i]);
    in = {i, kFew + (behind - i)};
    if (behind - i >= kMany) {
      in.what = static_cast<std::uint32_t>(lines_.size());
      lines_.resize(lines_.size() + kLinesPerZone);
      std::uint32_t next = i;
      for (std::uint64_t k = 0; k < kLinesPerZone; ++k) {
        Line& line = lines_[in.what + k];
        line = {next, {}};
        for (; next < behind && offset(begin_[next]) / kLineBytes == k; ++next) {
          const std::uint64_t bit = offset(begin_[next]) % kLineBytes / kGrain;
          line.bits[bit / 64] |= std::uint64_t{1} << (bit % 64);
        }
      }
    }
    const std::uint64_t last_end = end(behind - 1);
    if (last_end > (zone + 1) << kZoneBits) reach_into((zone + 1) << kZoneBits, last_end, behind);
    i = behind;
  }
  if (size() == 0) return;
  lowest_ = begin_[0] & ~(kGrain - 1);
  reach_ = std::max(end(size() - 1), begin_[size() - 1] + 1) - lowest_; // the last one ends last
}

std::uint64_t BlockRanks::look_up(const Odd& odd, std::uint32_t block) {
  const auto found = std::lower_bound(odd.begin(), odd.end(), block,
                                      [](const auto& entry, std::uint32_t number) { return entry.first < number; });
  return found != odd.end() && found->first == block ? found->second : 0;
}

std::uint64_t BlockRanks::bytes(std::uint32_t block) const {
  if (!cut_.empty()) {
    if (const std::uint64_t whole = look_up(cut_, block); whole != 0) return whole;
  }
  return extent(block);
}

std::uint32_t BlockRanks::rank_among_few(const Zone& in, std::uint64_t address) const {
  const bool anywhere = in.before == kNone;
  const auto from = begin_.begin() + (anywhere ? 0 : in.before);
  const auto till = anywhere ? begin_.end() : from + (in.what & ~kFew);
  // As with bits, an address in the 8 bytes in which a block begins counts as behind it.
  return static_cast<std::uint32_t>(std::upper_bound(from, till, address | (kGrain - 1)) - begin_.begin());
}

std::uint32_t BlockRanks::odd_holder(std::uint64_t address, std::uint32_t rank) const {
  if (address < begin_[rank - 1] && --rank == 0) return kNone;
  const std::uint64_t inside = address - begin_[rank - 1];
  return inside < extent(rank - 1) || inside == 0 ? rank - 1 : kNone;
}

std::uint32_t BlockRanks::first_from(std::uint64_t address) const {
  return static_cast<std::uint32_t>(std::lower_bound(begin_.begin(), begin_.end(), address) - begin_.begin());
}

std::size_t BlockRanks::memory_bytes() const {
  return bytes_of(begin_) + bytes_of(extent_) + bytes_of(group_) + bytes_of(lines_) + directory_.size() * 4 +
         tables_.size() * sizeof(Zones) + (large_.size() + cut_.size()) * sizeof(Odd::value_type);
}

} // namespace heaptape
