// The program's memory at one snapshot: from addresses to bytes.
//
//   image     a table of pages and where their bytes are; never changes, any number of threads may share it
//   cursor    reads it; keeps the last 64 chunks unpacked; one thread at a time
//
// A table from a tape may say anything. Runs that overlap, that are empty or that lie outside of what a program can map are left
// out or cut; a page whose bytes are lost is Damaged, and reading stops before it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/memory/page_source.h"
#include "tape/memory_snapshot.h"

namespace heaptape {

// What is known of an address: PageState, and Damaged.
enum class MemoryState : std::uint8_t { None, Zero, Fill, Stored, OfFile, Refused, LeftOut, Shared, Damaged };

// Fills in the page of a mapped file that lies at this address; false: not known. Called from any thread that has a cursor.
using FilePages = std::function<bool(std::uint64_t address, std::span<std::byte> page)>;

class MemoryImage {
public:
  // Addresses of programs lie below.
  static constexpr std::uint64_t kEnd = std::uint64_t{1} << 56;

  // `source` must outlive the image. Without `files` pages OfFile cannot be read.
  MemoryImage(std::vector<PageRun> runs, const PageSource& source, FilePages files = {});

  std::span<const PageRun> runs() const { return runs_; } // by address, not overlapping
  // The first run that ends behind this address.
  std::size_t run_behind(std::uint64_t address) const;
  const PageSource& source() const { return source_; }
  const FilePages& files() const { return files_; }
  std::uint64_t stored_bytes() const { return stored_bytes_; }

private:
  std::vector<PageRun> runs_;
  const PageSource& source_;
  FilePages files_;
  std::uint64_t stored_bytes_ = 0;
};

// Bytes side by side, of memory whose contents differ from page to page.
struct MemoryPiece {
  std::uint64_t address = 0;
  std::span<const std::byte> bytes{}; // empty: there is nothing more
  std::uint64_t next = 0;             // where to go on

  std::uint64_t end() const { return address + bytes.size(); }
};

class MemoryCursor {
public:
  explicit MemoryCursor(const MemoryImage& image) : image_(image) {}

  MemoryState state_at(std::uint64_t address);
  // Where the pages end that have the same state as the one at this address, and lie side by side on the tape; where it is not known
  // itself, where the next ones begin that are.
  std::uint64_t run_end(std::uint64_t address);
  // How many bytes could be read: all, or those before the first that is not known.
  std::size_t read(std::uint64_t address, std::span<std::byte> into);
  std::optional<std::uint64_t> word(std::uint64_t address);
  // Up to the first zero byte, the first unknown byte, or this many.
  std::string text(std::uint64_t address, std::size_t most);

  // The next piece of stored memory at or behind `address` and before `end`. Zeros and pages of files are passed over, and of a run of
  // pages that repeat one word only one page is given. The bytes are valid until the next call.
  MemoryPiece next_piece(std::uint64_t address, std::uint64_t end);

  // All such pieces in order: visit(address, bytes). `visit` must not use this cursor.
  template <class Visit>
  void for_each_piece(std::uint64_t begin, std::uint64_t end, Visit visit) {
    for (std::uint64_t at = begin; at < end;) {
      const MemoryPiece piece = next_piece(at, end);
      if (piece.bytes.empty()) break;
      visit(piece.address, piece.bytes);
      at = piece.next;
    }
  }

private:
  static constexpr std::size_t kChunks = 64;
  struct Slot {
    PageChunk chunk{};
    std::uint64_t used = 0;
  };

  const PageRun* run_at(std::uint64_t address);
  // The chunk with this page; null: damaged.
  const PageChunk* chunk_with(std::uint64_t page);
  // The bytes from this address on to the end of the run, at most; empty: not known.
  std::span<const std::byte> bytes_at(const PageRun& run, std::uint64_t address);
  std::span<const std::byte> repeated(std::uint64_t word);

  const MemoryImage& image_;
  std::size_t run_ = 0; // the last one used
  std::vector<Slot> slots_;
  std::size_t slot_ = 0; // the last one used
  std::uint64_t uses_ = 0;
  std::vector<std::byte> page_;                   // of a file
  std::uint64_t page_address_ = ~std::uint64_t{}; // whose page that is
  std::vector<std::byte> repeat_;                 // a page of one word
  std::uint64_t repeat_word_ = 0;
};

} // namespace heaptape
