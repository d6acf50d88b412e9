// Live blocks by place, so that overlaps can be found, and where blocks were released last. A page-sized drawer per
// touched page, ordered inside; blocks longer than a page lie in an ordered map instead. About 20 bytes per address in
// use, released ones included until something else covers them. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace heaptape {

class BlockIndex {
public:
  struct Block {
    std::uint64_t address = 0;
    std::uint64_t size = 0;  // 0 counts as 1: a zero-byte block still owns its address
    std::uint64_t event = 0; // that made it

    friend bool operator==(const Block&, const Block&) = default;
  };

  // Nothing live may overlap it. Forgets releases inside it.
  void insert(const Block& block);
  // Ends the block that begins here and remembers the event that did it; false when none begins here.
  bool release(std::uint64_t address, std::uint64_t event);
  // Ends the block that begins here without a trace.
  void erase(std::uint64_t address);

  // A live block that shares a byte with [address, address + size), or nullptr. Valid until the next call.
  const Block* find_overlap(std::uint64_t address, std::uint64_t size);

  // The event that released the last block that began here; 0 when unknown, or when a block has covered the place
  // since.
  std::uint64_t released_by(std::uint64_t address) const;

  std::uint64_t size() const { return live_; }
  void clear();

private:
  static constexpr unsigned kPageBits = 12;
  static constexpr std::uint64_t kPageSize = std::uint64_t{1} << kPageBits;

  struct Entry {
    std::uint64_t event; // that made the block, or released it
    std::uint32_t size;
    std::uint16_t offset; // in the page
    bool live;
  };
  using Drawer = std::vector<Entry>; // by offset

  static std::uint64_t page_of(std::uint64_t address) { return address >> kPageBits; }
  static std::uint64_t length(std::uint64_t size) { return size == 0 ? 1 : size; }
  static std::uint64_t end_of(std::uint64_t address, std::uint64_t size);

  Entry* find_entry(std::uint64_t address);
  void put(std::uint64_t address, Entry entry);
  void remove_entry(std::uint64_t address);
  void forget_releases(std::uint64_t begin, std::uint64_t end);
  const Block* overlap_in_page(std::uint64_t page, std::uint64_t begin, std::uint64_t end);

  template <class Visit>
  void for_pages(std::uint64_t first, std::uint64_t last, Visit&& visit);

  std::unordered_map<std::uint64_t, Drawer> pages_;
  std::map<std::uint64_t, Block> long_; // by address
  Block found_;
  std::uint64_t live_ = 0;
};

} // namespace heaptape
