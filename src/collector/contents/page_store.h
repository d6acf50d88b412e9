// Takes pages in and brings them onto the tape, each once: a page that some earlier snapshot, or another place, has already is only named. Pages
// of zeros, and of one word repeated, take no room. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tape/memory_snapshot.h"
#include "tape/memory_snapshot_codec.h"

namespace heaptape {

class PageStore {
public:
  // Gets PAGES payloads in order. False: they are no longer wanted.
  using Write = std::function<bool(std::vector<std::byte> payload)>;
  explicit PageStore(Write write) : write_(std::move(write)) {}

  struct Stored {
    PageState state;
    std::uint64_t value; // as in PageRun
  };
  Stored add(std::span<const std::byte> page);
  // Writes the pages that wait for others to be packed with.
  void flush();
  // Write has refused; nothing that is added now will be on the tape.
  bool failed() const { return failed_; }
  // Some pages did not reach the tape: from here on none of those added before is referred to. Later ones get new numbers.
  void forget();

  std::uint64_t pages_written() const { return next_ - 1; } // numbers given so far

private:
  struct Known {
    std::uint64_t low = 0, high = 0; // of the page's hash
    std::uint64_t number = 0;        // 0: nothing here
  };
  Known& find(std::uint64_t low, std::uint64_t high);
  void grow();

  Write write_;
  PagePacker packer_;
  std::vector<std::byte> waiting_; // pages, up to kPagesPerChunk
  std::vector<Known> known_;       // open addressing; at most half full
  std::size_t known_count_ = 0;
  std::uint64_t next_ = 1;
  bool failed_ = false;
};

} // namespace heaptape
