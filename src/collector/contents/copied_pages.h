// Pages that were read and wait to be stored, so that neither the program nor the next look at it need wait for that. A page that is read again takes
// the place of the one before. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "tape/memory_snapshot.h"

namespace heaptape {

class CopiedPages {
public:
  void set_most_bytes(std::uint64_t bytes) { most_pages_ = bytes / kPageBytes; }
  std::uint64_t most_bytes() const { return most_pages_ * kPageBytes; }

  // False: there is no room for one more.
  bool add(std::uint64_t address, std::span<const std::byte> page);
  // All pages of [begin, end).
  void forget(std::uint64_t begin, std::uint64_t end);
  // All, and their room is given back.
  void clear();

  using Sink = std::function<void(std::uint64_t address, std::span<const std::byte> page)>;
  // By address.
  void for_each(const Sink& sink) const;

private:
  static constexpr std::uint64_t kPages = 512;
  static constexpr std::uint64_t kDrawerBytes = kPages * kPageBytes;
  using Drawer = std::array<std::uint32_t, kPages>; // the page's place, counted from 1; 0: not here
  static constexpr std::size_t kBlockPages = 8192;
  struct Unmap {
    void operator()(std::byte* memory) const;
  };
  using Block = std::unique_ptr<std::byte, Unmap>;

  std::byte* place(std::uint32_t number) const;
  std::uint32_t new_place();
  Drawer& drawer(std::uint64_t begin);

  std::uint64_t most_pages_ = 0;
  std::map<std::uint64_t, Drawer> drawers_; // by address
  std::uint64_t last_begin_ = 0;            // the one asked for last
  Drawer* last_ = nullptr;
  std::vector<Block> blocks_;        // of kBlockPages each
  std::uint64_t places_ = 0;         // given so far
  std::vector<std::uint32_t> spare_; // of pages that were forgotten
};

} // namespace heaptape
