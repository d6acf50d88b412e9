#include "analysis/space/heap_ranges.h"

#include <algorithm>

#include "analysis/space/heap_cells.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kNear = std::uint64_t{1} << 20;

std::uint64_t end_of(const Block& block) {
  return std::max(block.address + std::max<std::uint64_t>(block.size, 1), block.address + 1);
}

// Sums live bytes page by page; blocks come in order.
class PageCount {
public:
  explicit PageCount(RangeFigures& figures) : figures_(figures) {}

  void add(const Block& block) {
    const std::uint64_t end = end_of(block), first = block.address / kPage, last = (end - 1) / kPage;
    go_to(first);
    bytes_ += std::min(end, (first + 1) * kPage) - block.address;
    if (last <= first) return;
    figures_.pages += last - first - 1; // whole pages
    go_to(last);
    bytes_ += end - std::max(last * kPage, block.address);
  }

  // No more blocks.
  void finish() { close(); }

private:
  void go_to(std::uint64_t page) {
    if (open_ && page == page_) return;
    close();
    open_ = true;
    page_ = page;
    bytes_ = 0;
  }
  void close() {
    if (!open_) return;
    ++figures_.pages;
    figures_.little_pages += bytes_ < kLittle;
  }

  RangeFigures& figures_;
  bool open_ = false;
  std::uint64_t page_ = 0, bytes_ = 0;
};

class Ranges {
public:
  explicit Ranges(std::span<const Block> by_address) : blocks_(by_address) {}

  // Blocks up to here lie in no range.
  void skip_to(std::uint64_t address) {
    const std::size_t from = at_;
    while (at_ < blocks_.size() && blocks_[at_].address < address) ++at_;
    add_unknown(blocks_.subspan(from, at_ - from));
  }
  void add(const SpaceRange& range) {
    skip_to(range.begin);
    const std::size_t from = at_;
    while (at_ < blocks_.size() && blocks_[at_].address < range.end) ++at_;
    const bool arena = range.kind == RangeKind::MainHeap || range.kind == RangeKind::ThreadArena;
    if (at_ == from && !arena) return;
    HeapRange heap{range.begin, range.end, std::min(range.committed, range.end - range.begin), range.kind, true,
                   range.name,  {}};
    // What holds blocks is committed, whatever an older look at the address space said.
    if (at_ != from)
      heap.committed = std::max(heap.committed, std::min(end_of(blocks_[at_ - 1]), range.end) - range.begin);
    HeapRange* before = ranges_.empty() ? nullptr : &ranges_.back();
    const bool joins = before != nullptr && before->known && before->end == range.begin && before->kind == range.kind &&
                       before->name == range.name && range.kind != RangeKind::ThreadArena &&
                       before->committed == before->end - before->begin;
    if (joins) {
      before->committed += heap.committed;
      before->end = heap.end;
      first_block_.back() = std::min(first_block_.back(), from);
    } else {
      ranges_.push_back(heap);
      first_block_.push_back(from);
    }
    last_block_.resize(ranges_.size());
    last_block_.back() = at_;
  }

  std::vector<HeapRange> take() {
    for (std::size_t i = 0; i < ranges_.size(); ++i)
      ranges_[i].figures = range_figures(blocks_.subspan(first_block_[i], last_block_[i] - first_block_[i]));
    return std::move(ranges_);
  }

private:
  void add_unknown(std::span<const Block> blocks) {
    while (!blocks.empty()) {
      std::size_t count = 1;
      std::uint64_t end = end_of(blocks[0]);
      while (count < blocks.size() && blocks[count].address < end + kNear) end = std::max(end, end_of(blocks[count++]));
      const std::uint64_t begin = blocks[0].address & ~(kPage - 1);
      const std::uint64_t pages = (end - begin + kPage - 1) / kPage;
      ranges_.push_back({begin, begin + pages * kPage, pages * kPage, RangeKind::Anonymous, false, 0, {}});
      first_block_.push_back(static_cast<std::size_t>(blocks.data() - blocks_.data()));
      last_block_.push_back(first_block_.back() + count);
      blocks = blocks.subspan(count);
    }
  }

  std::span<const Block> blocks_;
  std::size_t at_ = 0;
  std::vector<HeapRange> ranges_;
  std::vector<std::size_t> first_block_, last_block_; // per range
};

} // namespace

RangeFigures range_figures(std::span<const Block> by_address) {
  RangeFigures figures;
  if (by_address.empty()) return figures;
  figures.first = figures.last = by_address.front().address;
  PageCount pages(figures);
  for (const Block& block : by_address) {
    figures.live += Cost::of(block.size);
    if (block.address > figures.last && block.address - figures.last > figures.gap_bytes) {
      figures.gap_begin = figures.last;
      figures.gap_bytes = block.address - figures.last;
    }
    figures.last = std::max(figures.last, block.address + block.size);
    pages.add(block);
  }
  pages.finish();
  return figures;
}

std::vector<HeapRange> heap_ranges(const AddressSpace& space, std::span<const Block> by_address) {
  Ranges ranges(by_address);
  for (const SpaceRange& range : space.ranges) ranges.add(range);
  ranges.skip_to(~std::uint64_t{0});
  return ranges.take();
}

} // namespace heaptape
