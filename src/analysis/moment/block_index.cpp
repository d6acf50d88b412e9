#include "analysis/moment/block_index.h"

#include <algorithm>

namespace heaptape {

std::uint64_t BlockIndex::end_of(std::uint64_t address, std::uint64_t size) {
  const std::uint64_t end = address + length(size);
  return end < address ? ~std::uint64_t{0} : end; // a size from a hostile tape
}

BlockIndex::Entry* BlockIndex::find_entry(std::uint64_t address) {
  const auto page = pages_.find(page_of(address));
  if (page == pages_.end()) return nullptr;
  const auto offset = static_cast<std::uint16_t>(address % kPageSize);
  const auto at = std::lower_bound(page->second.begin(), page->second.end(), offset,
                                   [](const Entry& entry, std::uint16_t value) { return entry.offset < value; });
  return at != page->second.end() && at->offset == offset ? &*at : nullptr;
}

void BlockIndex::put(std::uint64_t address, Entry entry) {
  Drawer& drawer = pages_[page_of(address)];
  entry.offset = static_cast<std::uint16_t>(address % kPageSize);
  const auto at = std::lower_bound(drawer.begin(), drawer.end(), entry.offset,
                                   [](const Entry& other, std::uint16_t value) { return other.offset < value; });
  if (at != drawer.end() && at->offset == entry.offset)
    *at = entry;
  else
    drawer.insert(at, entry);
}

void BlockIndex::remove_entry(std::uint64_t address) {
  const auto page = pages_.find(page_of(address));
  if (page == pages_.end()) return;
  const auto offset = static_cast<std::uint16_t>(address % kPageSize);
  std::erase_if(page->second, [&](const Entry& entry) { return entry.offset == offset; });
}

// Whichever is less work: asking for every page of the range, or looking at every page there is.
template <class Visit>
void BlockIndex::for_pages(std::uint64_t first, std::uint64_t last, Visit&& visit) {
  if (last - first < pages_.size()) {
    for (std::uint64_t page = first; page <= last; ++page) {
      if (const auto found = pages_.find(page); found != pages_.end() && visit(page, found->second)) return;
    }
    return;
  }
  for (auto& [page, drawer] : pages_) {
    if (page >= first && page <= last && visit(page, drawer)) return;
  }
}

void BlockIndex::forget_releases(std::uint64_t begin, std::uint64_t end) {
  for_pages(page_of(begin), page_of(end - 1), [&](std::uint64_t page, Drawer& drawer) {
    std::erase_if(drawer, [&](const Entry& entry) {
      const std::uint64_t address = page * kPageSize + entry.offset;
      return !entry.live && address >= begin && address < end;
    });
    return false;
  });
}

void BlockIndex::insert(const Block& block) {
  const std::uint64_t end = end_of(block.address, block.size);
  ++live_;
  if (block.size > kPageSize) {
    forget_releases(block.address, end);
    long_[block.address] = block;
    return;
  }
  // Most blocks reuse the very place of an earlier one and need no look at their neighbours. A release that stays
  // behind inside is harmless: callers look for live blocks first.
  if (Entry* same = find_entry(block.address); same != nullptr && length(same->size) >= length(block.size)) {
    *same = Entry{block.event, static_cast<std::uint32_t>(block.size), same->offset, true};
    return;
  }
  forget_releases(block.address, end);
  put(block.address, Entry{block.event, static_cast<std::uint32_t>(block.size), 0, true});
}

bool BlockIndex::release(std::uint64_t address, std::uint64_t event) {
  if (Entry* entry = find_entry(address); entry != nullptr && entry->live) {
    entry->live = false; // the size stays, for insert()
    entry->event = event;
    --live_;
    return true;
  }
  if (long_.erase(address) == 0) return false;
  --live_;
  put(address, Entry{event, 0, 0, false});
  return true;
}

void BlockIndex::erase(std::uint64_t address) {
  if (const Entry* entry = find_entry(address); entry != nullptr && entry->live) {
    remove_entry(address);
    --live_;
  } else if (long_.erase(address) != 0) {
    --live_;
  }
}

const BlockIndex::Block* BlockIndex::overlap_in_page(std::uint64_t page, std::uint64_t begin, std::uint64_t end) {
  const auto found = pages_.find(page);
  if (found == pages_.end()) return nullptr;
  // From the back: the block before `begin` is the only one of those before it that can reach over it.
  for (auto entry = found->second.rbegin(); entry != found->second.rend(); ++entry) {
    if (!entry->live) continue;
    const std::uint64_t address = page * kPageSize + entry->offset;
    if (address >= end) continue;
    if (end_of(address, entry->size) <= begin) return nullptr;
    found_ = Block{address, entry->size, entry->event};
    return &found_;
  }
  return nullptr;
}

const BlockIndex::Block* BlockIndex::find_overlap(std::uint64_t address, std::uint64_t size) {
  const std::uint64_t end = end_of(address, size);
  if (!long_.empty()) {
    auto after = long_.lower_bound(end);
    if (after != long_.begin()) {
      --after;
      if (end_of(after->first, after->second.size) > address) return &after->second;
    }
  }
  const std::uint64_t first = page_of(address), last = page_of(end - 1);
  if (first != 0) {
    if (const Block* block = overlap_in_page(first - 1, address, end)) return block;
  }
  const Block* block = nullptr;
  for_pages(first, last, [&](std::uint64_t page, Drawer&) {
    block = overlap_in_page(page, address, end);
    return block != nullptr;
  });
  return block;
}

std::uint64_t BlockIndex::released_by(std::uint64_t address) const {
  const Entry* entry = const_cast<BlockIndex*>(this)->find_entry(address);
  return entry != nullptr && !entry->live ? entry->event : 0;
}

void BlockIndex::clear() {
  pages_.clear();
  long_.clear();
  live_ = 0;
}

} // namespace heaptape
