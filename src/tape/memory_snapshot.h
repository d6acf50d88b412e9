// What the program's memory held at some moments of the run: plain values on their way onto a tape, and all of a tape's snapshots as
// read back. The pages lie elsewhere on the tape, each once, under a number; a snapshot says which page was where.
//
//   page on the tape     1  2  3  4  5  6          written with snapshot 1: 1 to 4, with snapshot 2: 5 and 6
//   snapshot 1           [1  2  3  4] at 0x1000    one run
//   snapshot 2           [1][5][3  4] at 0x1000, [6] at 0x9000;    on the tape only the change: [5] at 0x2000, [6] at 0x9000
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tape/maps.h"

namespace heaptape {

inline constexpr std::uint64_t kPageBytes = kMapUnit;
inline constexpr std::uint32_t kPagesPerChunk = 64; // at most, of a PAGES chunk

// How the memory was copied. The numbers are part of the tape format.
enum class SnapshotMethod : std::uint8_t {
  Unknown = 0,
  Stop = 1, // the program stood still for all of it
  Live = 2, // while it ran; it stood still for what it had changed meanwhile
  Twin = 3, // from a copy-on-write child
};

// "live", "twin", "stop"; "unknown".
std::string_view snapshot_method_name(SnapshotMethod method);

// What is known of a page. The numbers are part of the tape format.
enum class PageState : std::uint8_t {
  None = 0,    // nothing was mapped there
  Zero = 1,    // zeros, or never touched
  Fill = 2,    // one word of eight bytes, repeated
  Stored = 3,  // on the tape
  OfFile = 4,  // as in the file that was mapped there
  Refused = 5, // the kernel did not let us read it
  LeftOut = 6, // the program asked not to have it in dumps (MADV_DONTDUMP)
  Shared = 7,  // of memory shared with other processes, and too much of it to copy
};
inline constexpr std::uint8_t kPageStates = 8;

// Neighbouring pages of one state. Stored pages have numbers that follow each other.
struct PageRun {
  std::uint64_t begin = 0; // multiples of kPageBytes
  std::uint64_t end = 0;
  PageState state = PageState::None;
  std::uint64_t value = 0; // Fill: the word; Stored: the number of the first page; else 0

  std::uint64_t pages() const { return (end - begin) / kPageBytes; }
  friend bool operator==(const PageRun&, const PageRun&) = default;
};

// One thread of the program, stopped.
struct ThreadState {
  static constexpr std::size_t kRegisters = 27;
  enum Register : std::uint8_t { // as in user_regs_struct of <sys/user.h>
    R15,
    R14,
    R13,
    R12,
    Rbp,
    Rbx,
    R11,
    R10,
    R9,
    R8,
    Rax,
    Rcx,
    Rdx,
    Rsi,
    Rdi,
    OrigRax,
    Rip,
    Cs,
    Eflags,
    Rsp,
    Ss,
    FsBase,
    GsBase,
    Ds,
    Es,
    Fs,
    Gs,
  };

  std::uint32_t tid = 0;    // the kernel's, as the collector sees it
  std::uint32_t signal = 0; // that it was about to take; 0: none
  bool stopped = true;      // false: it could not be stopped (uninterruptible sleep), and nothing below is known
  std::array<std::uint64_t, kRegisters> registers{};
  std::vector<std::byte>
      extended{}; // the x87, SSE and AVX registers, as in the note NT_X86_XSTATE of a core file; may be empty

  std::uint64_t operator[](Register which) const { return registers[which]; }
  friend bool operator==(const ThreadState&, const ThreadState&) = default;
};

struct LiveSum {
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  friend bool operator==(const LiveSum&, const LiveSum&) = default;
};

struct MemorySnapshot {
  std::uint64_t number = 0; // counted from 1 over the recording
  std::string name{};
  std::uint64_t event = 0; // the last one before it: what the tape calls live then was allocated
  std::uint64_t time_us = 0;
  SnapshotMethod method = SnapshotMethod::Unknown; // readers may meet others, of later versions
  std::uint64_t pause_us = 0;                      // the program stood still for this long
  std::uint64_t duration_us = 0;                   // from the first page read to the last one written
  std::vector<ThreadState> threads{};
  std::vector<std::byte> auxiliary{};     // the auxiliary vector (/proc/PID/auxv)
  std::vector<std::uint64_t> in_flight{}; // blocks that a realloc was moving: their contents may lie elsewhere
  std::vector<MappedRange> regions{};     // by address; their names are of the Snapshots' names
  bool whole = true;                      // `runs` are all; else the difference from snapshot number - 1
  std::vector<PageRun> runs{};            // by address, not overlapping
  std::uint64_t new_pages = 0;            // of these, written with this snapshot
  std::optional<LiveSum> live{};          // of the heap at the event; older tapes do not say
  friend bool operator==(const MemorySnapshot&, const MemorySnapshot&) = default;
};

// Adds a run behind the others, joined with the last one where they belong together.
void append_run(std::vector<PageRun>& runs, const PageRun& next);
// From one table of pages to another, both by address: runs that are new, or changed, and with None what is gone.
std::vector<PageRun> page_changes(std::span<const PageRun> before, std::span<const PageRun> now);
// The table that such a difference leads to. Neighbouring runs that belong together are joined.
std::vector<PageRun> apply_page_changes(std::span<const PageRun> before, std::span<const PageRun> changes);

// Pages that lie together on the tape.
struct PagesChunk {
  std::uint64_t offset = 0; // of the chunk in the file
  std::uint64_t bytes = 0;  // on disk, chunk header included
  std::uint64_t first = 0;  // number of the first page
  std::uint32_t count = 0;
};

// The snapshots of a tape, in order. Const calls may come from any thread.
class Snapshots {
public:
  std::size_t size() const { return list_.size(); }
  bool empty() const { return list_.empty(); }
  const MemorySnapshot& operator[](std::size_t index) const { return list_[index]; }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }

  // All pages of a snapshot, by address.
  std::vector<PageRun> pages(std::size_t index) const;
  const MapNames& names() const { return names_; }

  MapNames& names() { return names_; }
  static constexpr std::size_t kMostRuns = std::size_t{1} << 25; // of all snapshots together
  // The next one. One for which there are too many runs, that does not follow the last, or that is a difference from one which is missing, is left out: false.
  bool add(MemorySnapshot snapshot);

private:
  MapNames names_;
  std::vector<MemorySnapshot> list_;
  std::size_t runs_ = 0;
};

} // namespace heaptape
